//! `tutti code verify --local`. Main function: [`run`].

use code_store::integrity::{StoreVerification, check_store};
use error_causes::chain;
use tokio_util::sync::CancellationToken;

use crate::Failure;
use crate::code::verify::{Options, print};

pub(in crate::code) async fn run(options: &Options) -> Result<u8, Failure> {
    let cut = CancellationToken::new();
    let verified = match options.repair {
        true => {
            let (deployer, _) = options.place.open()?;
            let verified = deployer.verify(true, cut).await;
            verified.map_err(|error| Failure::Usage(chain(&error)))?
        }
        // A check without repairs need not wait for a process that deploys.
        false => {
            let versions = options.place.look()?;
            let checked = check_store(&versions, &cut);
            StoreVerification {
                check: checked.map_err(|error| Failure::Usage(chain(&error)))?,
                ..StoreVerification::default()
            }
        }
    };
    Ok(print(&verified.shown(), options))
}
