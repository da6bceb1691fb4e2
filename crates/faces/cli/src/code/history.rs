//! `tutti code history`. Main function: [`run`].

use api_types::{CodeDeployment, CodeHistory};

use super::CODE;
use super::display::{format_timestamp, print_changes, print_warnings, short};
use crate::client::ApiClient;
use crate::output::json;
use crate::terminal::escape_control;
use crate::{CommandFailure, EXIT_SUCCESS, OutputFormat, terminal};

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
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
}

pub(super) async fn run(options: &Options, client: &ApiClient) -> Result<u8, CommandFailure> {
    let path: Vec<&str> = CODE.into_iter().chain(["history"]).collect();
    let (limit, before) = (
        options.limit.to_string(),
        options.before.map(|it| it.to_string()),
    );
    let mut query = vec![("limit", limit.as_str())];
    query.extend(options.environment.as_deref().map(|it| ("environment", it)));
    query.extend(before.as_deref().map(|it| ("before", it)));
    let history: CodeHistory = client.get(&path, &query).await?;
    match options.format {
        OutputFormat::Json => json(&history),
        OutputFormat::Human if history.items.is_empty() => say!("There are no deployments."),
        OutputFormat::Human => history.items.iter().for_each(print),
    }
    Ok(EXIT_SUCCESS)
}

fn print(told: &CodeDeployment) {
    let version = told.version.as_deref().map_or("", short);
    let what = match told.dry_run {
        true => format!("{} (dry run)", escape_control(&told.action)),
        false => escape_control(&told.action),
    };
    let how = match told.state.as_str() {
        "synced" => terminal::style_success("✓"),
        "failed" => terminal::style_failure("✗"),
        other => escape_control(other),
    };
    say!(
        "{how} {} {} {what} {version} by {} at {}",
        told.id,
        terminal::style_name(escape_control(&told.environment)),
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
    let said = told.error.as_ref().map_or("", |error| &error.msg);
    said.lines()
        .for_each(|line| say!("    {}", escape_control(line)));
}
