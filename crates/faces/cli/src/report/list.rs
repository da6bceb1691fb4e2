//! `tutti report list`. Main type: [`Options`].

use api_types::{RunReportItem, RunReportList};

use super::style_run_status;
use crate::client::ApiClient;
use crate::defaults::{REPORT_ID_SHOWN, REPORTS_SHOWN};
use crate::output_format::OutputFormat;
use crate::present::OutputOptions;
use crate::terminal::{escape_control, escaped_name, style_dim, style_noop};
use crate::values::{duration, or_empty};
use crate::{Result, VerbResult, targets};

/// Arguments of `tutti report list`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Only reports of this node, by its certname or its first label
    #[arg(long, short = 'n', value_name = "NODE")]
    node: Option<String>,
    /// Only runs with this result
    #[arg(long, value_name = "STATUS", value_parser = ["changed", "unchanged", "failed"])]
    status: Option<String>,
    /// Only runs that this job started
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
    /// Number of reports, the newest first
    #[arg(long, default_value_t = REPORTS_SHOWN)]
    limit: u64,
    #[command(flatten)]
    shown: OutputOptions,
}

/// Reports of one node, the newest first.
pub(crate) async fn fetch_of_node(
    client: &ApiClient,
    node: &str,
    limit: u64,
) -> Result<RunReportList> {
    let limit = limit.to_string();
    let query = [("node", node), ("limit", limit.as_str())];
    client.get(&["tutti", "v1", "reports"], &query).await
}

pub(super) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let node = match &options.node {
        Some(node) => Some(targets::resolve_one_node(client, node).await?),
        None => None,
    };
    let limit = options.limit.to_string();
    let mut query = vec![("limit", limit.as_str())];
    let filters = [
        ("node", node.as_deref()),
        ("status", options.status.as_deref()),
        ("job", options.job.as_deref()),
    ];
    let given = filters.into_iter();
    query.extend(given.filter_map(|(key, value)| Some((key, value?))));
    let is_filtered = query.len() > 1;
    let list: RunReportList = client.get(&["tutti", "v1", "reports"], &query).await?;
    let empty = match is_filtered {
        true => "No report fits; `tutti report list` without filters lists all.",
        false => {
            "No reports yet; agents that use this server as their Puppet server send them after \
             each run."
        }
    };
    let is_from_puppetdb = list.source == "puppetdb" && !list.items.is_empty();
    let listed = options.shown.format.list(
        &list,
        &list.items,
        empty,
        &[
            ("ID", &|report| short_id(&report.id)),
            ("NODE", &|report| escaped_name(&report.node)),
            ("STATUS", &describe_status),
            ("ENVIRONMENT", &|report| {
                or_empty(report.environment.as_deref().map(escape_control))
            }),
            ("STARTED", &|report| or_empty(start(report))),
            ("TOOK", &|report| or_empty(run_time(report))),
            ("JOB", &|report| {
                or_empty(report.job.as_deref().map(escape_control))
            }),
        ],
    );
    if is_from_puppetdb && options.shown.format == OutputFormat::Human {
        say!(
            "{}",
            style_dim("from PuppetDB; this server has no such reports")
        );
    }
    listed
}

/// The first digits of the id, which `tutti report show` takes.
pub(crate) fn short_id(id: &str) -> String {
    escape_control(&id.chars().take(REPORT_ID_SHOWN).collect::<String>())
}

/// The status, with the mode of the run.
pub(crate) fn describe_status(report: &RunReportItem) -> String {
    let status = style_run_status(&report.status);
    let is_corrective = report.corrective_change == Some(true);
    match report.noop {
        true => format!("{status} {}", style_noop("(noop)")),
        false if is_corrective => format!("{status} (corrective)"),
        false => status,
    }
}

/// Start of the run, to the second.
pub(crate) fn start(report: &RunReportItem) -> Option<api_types::Timestamp> {
    let start = report.start_time.unwrap_or(report.receive_time);
    Some(api_types::Timestamp(start.0))
}

/// Duration of the run.
pub(crate) fn run_time(report: &RunReportItem) -> Option<String> {
    let took = report.end_time?.0.duration_since(report.start_time?.0);
    Some(duration(took.as_secs_f64()))
}
