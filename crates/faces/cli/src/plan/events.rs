//! `tutti plan events ID`. Main type: [`Options`].

use api_types::{PlanEvent, PlanEvents};

use super::{follow, preview};
use crate::client::ApiClient;
use crate::present::OutputOptions;
use crate::terminal::{escape_control, escaped_name, style_dim};
use crate::{Result, VerbResult};

/// Arguments of `tutti plan events`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Number of the plan job
    job: String,
    /// Watch it until it ends, and answer its questions
    #[arg(long, short = 'f')]
    follow: bool,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(super) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let format = options.shown.format;
    if options.follow {
        return follow::follow(client, &options.job, format).await;
    }
    let events = fetch_events(client, &options.job).await?;
    format.present(&events, |events| print(events))
}

pub(super) fn print(events: &[PlanEvent]) {
    for event in events {
        if let Some(lines) = preview::format_preview_event(event) {
            lines.iter().for_each(|line| say!("{line}"));
            continue;
        }
        let time = style_dim(event.timestamp);
        let kind = escaped_name(&event.kind);
        say!("{time}  {kind}  {}", escape_control(&event.message));
    }
}

/// All events of a plan job, page by page.
pub(super) async fn fetch_events(client: &ApiClient, number: &str) -> Result<Vec<PlanEvent>> {
    let mut events = Vec::new();
    let mut start = "0".to_owned();
    loop {
        let page = fetch_page(client, number, &start).await?;
        if page.items.is_empty() || page.next_events.event == start {
            return Ok(events);
        }
        events.extend(page.items);
        start = page.next_events.event;
    }
}

/// The cursor after the last event so far.
pub(super) async fn fetch_end_cursor(client: &ApiClient, number: &str) -> Result<String> {
    let last = fetch_events(client, number).await?.pop();
    let next = last.and_then(|event| event.id.parse::<u64>().ok());
    Ok(next.map_or(0, |id| id.saturating_add(1)).to_string())
}

/// The events from a cursor on.
pub(super) async fn fetch_page(
    client: &ApiClient,
    number: &str,
    start: &str,
) -> Result<PlanEvents> {
    let path = ["orchestrator", "v1", "plan_jobs", number, "events"];
    client.get(&path, &[("start", start)]).await
}
