//! `tutti code rollback`. Main function: [`run`].

use api_types::{CodeDeployment, CodeRollbackCommand};

use super::CODE;
use super::directory::LocalCodeOptions;
use super::display::{changes, notes, short};
use crate::client::Client;
use crate::output::json;
use crate::terminal::harmless;
use crate::{EXIT_SUCCESS, Failure, Format, terminal};

/// Arguments of `tutti code rollback`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti code rollback production
  tutti code rollback production 3f2a9c --reason 'the web tier is down'

It takes as long as one rename, and asks no repository. The next `tutti code deploy` brings what the branch
has; `tutti code pin` keeps it from that.")]
pub struct Options {
    /// Name of the environment
    #[arg(value_name = "ENVIRONMENT")]
    pub environment: String,
    /// Version, or its first digits [default: the version that was live before; required with
    /// --local]
    #[arg(value_name = "VERSION", required_if_eq("local", "true"))]
    pub version: Option<String>,
    /// Reason, shown in the history
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        conflicts_with = "local"
    )]
    reason: String,
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    #[command(flatten)]
    pub place: LocalCodeOptions,
}

pub(super) async fn run(options: &Options, client: &Client) -> Result<u8, Failure> {
    let path: Vec<&str> = CODE.into_iter().chain(["rollback"]).collect();
    let command = CodeRollbackCommand {
        environment: options.environment.clone(),
        version: options.version.clone(),
        reason: options.reason.clone(),
    };
    let told: CodeDeployment = client.post(&path, &command).await?;
    print_switched(&told, options.format);
    Ok(EXIT_SUCCESS)
}

/// Prints the live version after the switch.
pub(super) fn print_switched(told: &CodeDeployment, format: Format) {
    if format == Format::Json {
        return json(told);
    }
    say!(
        "{} {}: {} is live",
        terminal::good("✓"),
        terminal::name(harmless(&told.environment)),
        told.version.as_deref().map_or("", short)
    );
    changes(told.changes.as_ref());
    notes(told);
}
