//! `tutti code history`. Main function: [`run`].

use api_types::{CodeDeployment, CodeHistory};

use super::CODE;
use super::display::{changes, moment, notes, short};
use crate::client::Client;
use crate::output::json;
use crate::terminal::harmless;
use crate::{EXIT_SUCCESS, Failure, Format, terminal};

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
    format: Format,
}

pub(super) async fn run(options: &Options, client: &Client) -> Result<u8, Failure> {
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
        Format::Json => json(&history),
        Format::Human if history.items.is_empty() => say!("There are no deployments."),
        Format::Human => history.items.iter().for_each(print),
    }
    Ok(EXIT_SUCCESS)
}

fn print(told: &CodeDeployment) {
    let version = told.version.as_deref().map_or("", short);
    let what = match told.dry_run {
        true => format!("{} (dry run)", harmless(&told.action)),
        false => harmless(&told.action),
    };
    let how = match told.state.as_str() {
        "synced" => terminal::good("✓"),
        "failed" => terminal::bad("✗"),
        other => harmless(other),
    };
    say!(
        "{how} {} {} {what} {version} by {} at {}",
        told.id,
        terminal::name(harmless(&told.environment)),
        harmless(&told.owner),
        moment(&told.queued_timestamp)
    );
    if !told.reason.is_empty() {
        say!("    {}", harmless(&told.reason));
    }
    if told.version_before.is_some() {
        changes(told.changes.as_ref());
    }
    notes(told);
    let said = told.error.as_ref().map_or("", |error| &error.msg);
    said.lines().for_each(|line| say!("    {}", harmless(line)));
}
