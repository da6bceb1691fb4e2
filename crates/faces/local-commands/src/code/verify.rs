//! `tutti code verify --local`. Main function: [`run`].

use code_store::integrity::{StoreVerification, check_store};
use error_causes::chain;

use super::directory;
use tokio_util::sync::CancellationToken;

use cli::CommandFailure;
use cli::code::{VerifyOptions, print_verification};

pub(crate) async fn run(options: &VerifyOptions) -> Result<u8, CommandFailure> {
    let cut = CancellationToken::new();
    let verified = match options.repair {
        true => {
            let (deployer, _) = directory::open(&options.place)?;
            let verified = deployer.verify(true, cut).await;
            verified.map_err(|error| CommandFailure::Usage(chain(&error)))?
        }
        // A check without repairs need not wait for a process that deploys.
        false => {
            let versions = directory::versions(&options.place)?;
            let checked = check_store(&versions, &cut);
            StoreVerification {
                check: checked.map_err(|error| CommandFailure::Usage(chain(&error)))?,
                ..StoreVerification::default()
            }
        }
    };
    Ok(print_verification(&verified.to_code_verified(), options))
}
