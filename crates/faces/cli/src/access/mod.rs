//! `tutti access …`: tokens and the token file, as in `puppet access`. Main type: [`AccessVerb`].

mod callback;
pub(crate) mod login;
mod oidc;
mod pasted_lines;

use secrecy::ExposeSecret as _;

use crate::settings::{ConfigTool, ConnectionFlags};
use crate::{CommandFailure, EXIT_SUCCESS, VerbResult, client};

/// Verbs of `tutti access`.
#[derive(Debug, clap::Subcommand)]
pub enum AccessVerb {
    /// Get a token for the API and write it to the token file
    #[command(after_long_help = "Examples:
  tutti access login admin --lifetime 8h
  printf '%s\\n' \"$LOGIN\" \"$PASSWORD\" | tutti access login")]
    Login(login::Options),
    /// Print the token in the token file
    #[command(after_long_help = "Example:\n  curl -H \"X-Authentication: $(tutti access show)\" …")]
    Show,
    /// Delete the token file; the token stays valid until `tutti token revoke`
    #[command(after_long_help = "Example:\n  tutti access delete-token-file")]
    DeleteTokenFile,
}

pub(crate) async fn run(verb: AccessVerb, connection: &ConnectionFlags) -> VerbResult {
    let settings = connection.settings_for(ConfigTool::Access)?;
    match verb {
        AccessVerb::Login(options) => login::run(options, &settings).await,
        AccessVerb::Show => {
            say!("{}", client::token(&settings.token_file)?.expose_secret());
            Ok(EXIT_SUCCESS)
        }
        AccessVerb::DeleteTokenFile => {
            let path = settings.token_file;
            match std::fs::remove_file(&path) {
                Ok(()) => say!("Deleted {}", path.display()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    say!("There is no token file {}", path.display());
                }
                Err(source) => return Err(CommandFailure::Write { path, source }),
            }
            Ok(EXIT_SUCCESS)
        }
    }
}
