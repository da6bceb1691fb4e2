//! `tutti code pin`, `tutti code unpin`. Main functions: [`run`], [`unpin`].

use api_types::{CodePinCommand, CodePinned, CodeUnpinCommand};

use super::CODE;
use super::display::short;
use crate::client::ApiClient;
use crate::terminal::{self, escape_control};
use crate::{CommandFailure, EXIT_SUCCESS};

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

pub(super) async fn run(options: &Options, client: &ApiClient) -> Result<u8, CommandFailure> {
    let path: Vec<&str> = CODE.into_iter().chain(["pin"]).collect();
    let command = CodePinCommand {
        environment: options.environment.clone(),
        reason: options.reason.clone(),
    };
    let pinned: CodePinned = client.post(&path, &command).await?;
    say!(
        "{} stays with {}",
        terminal::style_name(escape_control(&pinned.environment)),
        pinned.version.as_deref().map_or("", short)
    );
    Ok(EXIT_SUCCESS)
}

pub(super) async fn unpin(one: &UnpinOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let path: Vec<&str> = CODE.into_iter().chain(["unpin"]).collect();
    let environment = one.environment.clone();
    let command = CodeUnpinCommand { environment };
    let pinned: CodePinned = client.post(&path, &command).await?;
    say!(
        "{} can be deployed again",
        terminal::style_name(escape_control(&pinned.environment))
    );
    Ok(EXIT_SUCCESS)
}
