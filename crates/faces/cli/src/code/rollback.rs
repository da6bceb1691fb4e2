//! `tutti code rollback`. Main function: [`run`].

use api_types::{CodeDeployment, CodeRollbackCommand};

use super::code_route;
use super::directory::LocalCodeOptions;
use super::display::{print_changes, print_warnings, short};
use crate::VerbResult;
use crate::client::ApiClient;
use crate::present::OutputOptions;
use crate::terminal::{escaped_name, style_success};

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
    #[command(flatten)]
    shown: OutputOptions,
    #[command(flatten)]
    pub place: LocalCodeOptions,
}

pub(super) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let path = code_route("rollback");
    let command = CodeRollbackCommand {
        environment: options.environment.clone(),
        version: options.version.clone(),
        reason: options.reason.clone(),
    };
    let told: CodeDeployment = client.post(&path, &command).await?;
    options.shown.format.present(&told, print_switched)
}

/// Prints the live version after the switch.
pub(super) fn print_switched(told: &CodeDeployment) {
    let (mark, name) = (style_success("✓"), escaped_name(&told.environment));
    let version = told.version.as_deref().map_or("", short);
    say!("{mark} {name}: {version} is live");
    print_changes(told.changes.as_ref());
    print_warnings(told);
}
