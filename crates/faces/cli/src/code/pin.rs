//! `tutti code pin`, `tutti code unpin`. Main functions: [`run`], [`unpin`].

use api_types::{CodePinCommand, CodePinned, CodeUnpinCommand};

use super::code_route;
use super::display::short;
use crate::client::ApiClient;
use crate::{EXIT_SUCCESS, VerbResult, terminal};

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

/// Arguments of `tutti code unpin`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  tutti code unpin production")]
pub struct UnpinOptions {
    /// Name of the environment
    #[arg(value_name = "ENVIRONMENT")]
    environment: String,
}

pub(super) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let path = code_route("pin");
    let command = CodePinCommand {
        environment: options.environment.clone(),
        reason: options.reason.clone(),
    };
    let pinned: CodePinned = client.post(&path, &command).await?;
    say!(
        "{} stays with {}",
        terminal::escaped_name(&pinned.environment),
        pinned.version.as_deref().map_or("", short)
    );
    Ok(EXIT_SUCCESS)
}

pub(super) async fn unpin(one: &UnpinOptions, client: &ApiClient) -> VerbResult {
    let path = code_route("unpin");
    let command = CodeUnpinCommand {
        environment: one.environment.clone(),
    };
    let pinned: CodePinned = client.post(&path, &command).await?;
    say!(
        "{} can be deployed again",
        terminal::escaped_name(&pinned.environment)
    );
    Ok(EXIT_SUCCESS)
}
