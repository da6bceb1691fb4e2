//! `tutti enc NODE`: an external node classifier. Main type: [`Options`].
//!
//! The rule: Puppet takes whatever is on standard output for the node's classes, so there is either a
//! whole document or nothing, and the exit code is not 0 then.

use crate::client::Client;
use crate::settings::Connection;
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, Failure, terminal};

/// How the server calls groups that do not agree.
const CONFLICT: &str = "classification-conflict";

/// Which node.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The node's certname
    certname: String,
}

pub(crate) async fn run(options: Options, connection: &Connection) -> Result<u8, Failure> {
    let client = Client::with_token(connection)?;
    let path = ["classifier-api", "v1", "enc", &options.certname];
    match client.text(&path).await {
        Ok(document) => {
            say!("{}", document.trim_end());
            Ok(EXIT_SUCCESS)
        }
        Err(failure @ Failure::Refused { .. }) if is_conflict(&failure) => {
            anstream::eprintln!("{} {}", terminal::bad("error:"), failure.shown());
            Ok(EXIT_NODES_FAILED)
        }
        Err(failure) => Err(failure),
    }
}

fn is_conflict(failure: &Failure) -> bool {
    matches!(failure, Failure::Refused { kind, .. } if kind == CONFLICT)
}
