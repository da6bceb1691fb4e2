//! `tutti code promote`. Main function: [`run`].

use api_types::{CodeDeployment, CodePromoteCommand};

use super::code_route;
use super::rollback::print_switched;
use crate::VerbResult;
use crate::client::ApiClient;
use crate::present::OutputOptions;

/// Arguments of `tutti code promote`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti code promote staging production --reason 'tested since Monday'
  tutti code promote staging production --version 3f2a9c

The other environment gets exactly these files, whatever its branch has. Its next deployment brings what its
branch has; `tutti code pin` keeps it from that.")]
pub struct Options {
    /// Environment that has the version
    #[arg(value_name = "FROM")]
    from: String,
    /// Environment that gets it
    #[arg(value_name = "TO")]
    to: String,
    /// First digits of the version [default: the live one]
    #[arg(long)]
    version: Option<String>,
    /// Reason, shown in the history
    #[arg(long, default_value = "", hide_default_value = true)]
    reason: String,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(super) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let path = code_route("promote");
    let command = CodePromoteCommand {
        from: options.from.clone(),
        version: options.version.clone(),
        to: options.to.clone(),
        reason: options.reason.clone(),
    };
    let told: CodeDeployment = client.post(&path, &command).await?;
    options.shown.format.present(&told, print_switched)
}
