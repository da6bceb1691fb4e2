//! `tutti code pin`, `tutti code unpin`. Main functions: [`run`], [`unpin`].

use api_types::{CodePinCommand, CodePinned, CodeUnpinCommand};

use super::code_route;
use super::display::short;
use crate::client::ApiClient;
use crate::terminal::escaped_name;
use crate::{EXIT_SUCCESS, VerbResult};

/// Arguments of `tutti code pin`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:
  tutti code pin production --reason 'the auditors are here until Friday'

Deployments of the environment fail until it is unpinned, and say who pinned it and why.")]
pub struct Options {
    /// Name of the environment, which stays at its live version
    #[arg(value_name = "ENVIRONMENT")]
    environment: String,
    /// Reason, shown when a deployment is refused
    #[arg(long, default_value = "", hide_default_value = true)]
    reason: String,
}

pub(super) async fn run(options: Options, client: &ApiClient) -> VerbResult {
    let command = CodePinCommand {
        environment: options.environment,
        reason: options.reason,
    };
    let pinned: CodePinned = client.post(&code_route("pin"), &command).await?;
    let version = pinned.version.as_deref().map_or("", short);
    say!("{} stays with {version}", escaped_name(&pinned.environment));
    Ok(EXIT_SUCCESS)
}

pub(super) async fn unpin(environment: String, client: &ApiClient) -> VerbResult {
    let command = CodeUnpinCommand { environment };
    let pinned: CodePinned = client.post(&code_route("unpin"), &command).await?;
    say!(
        "{} can be deployed again",
        escaped_name(&pinned.environment)
    );
    Ok(EXIT_SUCCESS)
}
