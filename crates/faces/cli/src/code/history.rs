//! `tutti code history`. Main function: [`run`].

use api_types::{CodeDeployment, CodeHistory};

use super::code_route;
use super::display::{
    describe_action, format_timestamp, print_changes, print_error, print_warnings, short,
};
use crate::VerbResult;
use crate::client::ApiClient;
use crate::present::OutputOptions;
use crate::terminal::{escape_control, escaped_name, style_failure, style_success};

/// Arguments of `tutti code history`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti code history
  tutti code history production --limit 3
  tutti code history --before 120 --format json")]
pub struct Options {
    /// Only deployments of this environment
    #[arg(value_name = "ENVIRONMENT")]
    environment: Option<String>,
    /// Number of deployments
    #[arg(long, default_value_t = 20)]
    limit: u64,
    /// Deployments before this number
    #[arg(long, value_name = "DEPLOYMENT")]
    before: Option<i64>,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(super) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let path = code_route("history");
    let limit = options.limit.to_string();
    let before = options.before.map(|it| it.to_string());
    let mut query = vec![("limit", limit.as_str())];
    query.extend(options.environment.as_deref().map(|it| ("environment", it)));
    query.extend(before.as_deref().map(|it| ("before", it)));
    let history: CodeHistory = client.get(&path, &query).await?;
    options
        .shown
        .format
        .present(&history, |history| match history.items.as_slice() {
            [] => say!("There are no deployments."),
            items => items.iter().for_each(print),
        })
}

fn print(told: &CodeDeployment) {
    let version = told.version.as_deref().map_or("", short);
    let what = describe_action(told);
    let how = match told.state.as_str() {
        "synced" => style_success("✓"),
        "failed" => style_failure("✗"),
        other => escape_control(other),
    };
    say!(
        "{how} {} {} {what} {version} by {} at {}",
        told.id,
        escaped_name(&told.environment),
        escape_control(&told.owner),
        format_timestamp(&told.queued_timestamp)
    );
    if !told.reason.is_empty() {
        say!("    {}", escape_control(&told.reason));
    }
    if told.version_before.is_some() {
        print_changes(told.changes.as_ref());
    }
    print_warnings(told);
    print_error(told.error.as_ref());
}
