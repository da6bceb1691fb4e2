//! `tutti audit list`. Main type: [`Options`].

use api_types::activity::ActivityV2;

use crate::VerbResult;
use crate::client::ApiClient;
use crate::defaults::AUDIT_SHOWN;
use crate::present::OutputOptions;
use crate::terminal::escape_control;

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

pub(crate) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let limit = options.limit.to_string();
    let since = options.since.as_ref();
    let since = since.map(|time| serde_json::json!([{ "start": time }]).to_string());
    let mut query = vec![("limit", limit.as_str())];
    query.extend(options.service.as_deref().map(|name| ("service_id", name)));
    query.extend(since.as_deref().map(|since| ("query", since)));
    let list: ActivityV2 = client
        .get(&["activity-api", "v2", "events"], &query)
        .await?;
    options.shown.format.list(
        &list,
        &list.commits,
        "There are no audit entries.",
        &[
            ("TIME", &|commit| commit.timestamp.to_string()),
            ("WHO", &|commit| match commit.subject.name.as_str() {
                "" => "anonymous".to_owned(),
                name => escape_control(name),
            }),
            ("WHAT", &|commit| {
                let message = commit.events.first();
                escape_control(message.map_or("", |event| event.message.as_str()))
            }),
            ("FROM", &|commit| {
                escape_control(commit.ip_address.as_deref().unwrap_or_default())
            }),
        ],
    )
}
