//! `tutti enc NODE`: an external node classifier. Main type: [`Options`].
//!
//! Invariant: Puppet reads standard output as the node's classes, so either a whole document is
//! printed, or nothing and the exit code is not 0.

use crate::client::ApiClient;
use crate::settings::ConnectionFlags;
use crate::terminal::style_failure;
use crate::{CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, VerbResult};

/// The server's error kind for groups that conflict.
const CONFLICT: &str = "classification-conflict";

/// Arguments of `tutti enc`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Certname of the node
    certname: String,
}

pub(crate) async fn run(options: Options, connection: &ConnectionFlags) -> VerbResult {
    let client = ApiClient::with_token(connection)?;
    let path = ["classifier-api", "v1", "enc", &options.certname];
    match client.text(&path).await {
        Ok(document) => {
            say!("{}", document.trim_end());
            Ok(EXIT_SUCCESS)
        }
        Err(failure) if matches!(&failure, CommandFailure::Refused { kind, .. } if kind == CONFLICT) =>
        {
            anstream::eprintln!("{} {}", style_failure("error:"), failure.to_terminal_text());
            Ok(EXIT_NODES_FAILED)
        }
        Err(failure) => Err(failure),
    }
}
