//! `tutti audit list`. Main type: [`ConfigFileKeys`].

use api_types::activity::{ActivityCommitV2, ActivityV2};

use crate::client::ApiClient;
use crate::defaults::AUDIT_SHOWN;
use crate::output::{OutputOptions, json};
use crate::{CommandFailure, EXIT_SUCCESS, table, terminal};

/// Arguments of `tutti audit list`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Number of entries, the newest first
    #[arg(long, default_value_t = AUDIT_SHOWN)]
    limit: u64,
    /// Only entries of one service: orchestrator, rbac, classifier, …
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Only entries since this time, such as 2026-11-21T08:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(crate) async fn run(options: &Options, client: &ApiClient) -> Result<u8, CommandFailure> {
    let limit = options.limit.to_string();
    let since = options.since.as_ref();
    let since = since.map(|time| serde_json::json!([{ "start": time }]).to_string());
    let mut query = vec![("limit", limit.as_str())];
    query.extend(options.service.as_deref().map(|name| ("service_id", name)));
    query.extend(since.as_deref().map(|since| ("query", since)));
    let list: ActivityV2 = client
        .get(&["activity-api", "v2", "events"], &query)
        .await?;
    if options.shown.format == crate::OutputFormat::Json {
        json(&list);
        return Ok(EXIT_SUCCESS);
    }
    if list.commits.is_empty() {
        say!("There are no audit entries.");
        return Ok(EXIT_SUCCESS);
    }
    let rows = list.commits.iter().map(row).collect();
    table::print(&["TIME", "WHO", "WHAT", "FROM"], rows);
    Ok(EXIT_SUCCESS)
}

fn row(commit: &ActivityCommitV2) -> Vec<String> {
    let message = commit.events.first();
    let message = message.map_or("", |event| event.message.as_str());
    let who = match commit.subject.name.as_str() {
        "" => "anonymous",
        name => name,
    };
    vec![
        commit.timestamp.to_string(),
        terminal::escape_control(who),
        terminal::escape_control(message),
        terminal::escape_control(commit.ip_address.as_deref().unwrap_or_default()),
    ]
}
