//! `tutti report …`: reports of Puppet runs. Main type: [`ReportVerb`].

pub(crate) mod list;
mod show;

use crate::VerbResult;
use crate::client::ApiClient;
use crate::terminal::{
    escape_control, style_failure, style_name, style_noop, style_success, style_warning,
};

/// Verbs of `tutti report`.
#[derive(Debug, clap::Subcommand)]
pub enum ReportVerb {
    /// List reports, the newest first
    #[command(after_long_help = "Examples:
  tutti report list
  tutti report list --node web1.example.com --limit 5
  tutti report list --status failed")]
    List(list::Options),
    /// Show a report: counts, changed and failed resources with their events, and messages
    #[command(after_long_help = "Examples:
  tutti report show 9f86d081
  tutti report show 9f86d081 --logs all")]
    Show(show::Options),
}

pub(crate) async fn run(verb: ReportVerb, client: &ApiClient) -> VerbResult {
    match verb {
        ReportVerb::List(options) => list::run(&options, client).await,
        ReportVerb::Show(options) => show::run(&options, client).await,
    }
}

/// The status of a run or of a resource, in its colour.
fn style_run_status(status: &str) -> String {
    let text = escape_control(status);
    match status {
        "failed" | "failure" => style_failure(text),
        "changed" | "success" => style_name(text),
        "corrective" | "skipped" => style_warning(text),
        "unchanged" => style_success(text),
        "noop" => style_noop(text),
        _ => text,
    }
}
