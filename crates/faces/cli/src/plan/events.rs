//! `tutti plan events ID`. Main type: [`Options`].

use api_types::{PlanEvent, PlanEvents};

use super::{follow, preview};
use crate::client::Client;
use crate::output::{OutputOptions, json};
use crate::terminal::{self, dim, harmless};
use crate::{EXIT_SUCCESS, Failure, Format};

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

pub(super) async fn run(options: &Options, client: &Client) -> Result<u8, Failure> {
    let format = options.shown.format;
    if options.follow {
        return follow::follow(client, &options.job, format).await;
    }
    let events = all(client, &options.job).await?;
    match format {
        Format::Json => json(&events),
        Format::Human => print(&events),
    }
    Ok(EXIT_SUCCESS)
}

pub(super) fn print(events: &[PlanEvent]) {
    for event in events {
        if let Some(lines) = preview::lines(event) {
            lines.iter().for_each(|line| say!("{line}"));
            continue;
        }
        let time = dim(event.timestamp);
        let kind = terminal::name(harmless(&event.kind));
        say!("{time}  {kind}  {}", harmless(&event.message));
    }
}

/// All events of a plan job, page by page.
pub(super) async fn all(client: &Client, number: &str) -> Result<Vec<PlanEvent>, Failure> {
    let mut events = Vec::new();
    let mut start = "0".to_owned();
    loop {
        let page = page(client, number, &start).await?;
        if page.items.is_empty() || page.next_events.event == start {
            return Ok(events);
        }
        events.extend(page.items);
        start = page.next_events.event;
    }
}

/// The cursor after the last event so far.
pub(super) async fn end(client: &Client, number: &str) -> Result<String, Failure> {
    let last = all(client, number).await?.pop();
    let next = last.and_then(|event| event.id.parse::<u64>().ok());
    Ok(next.map_or(0, |id| id.saturating_add(1)).to_string())
}

async fn page(client: &Client, number: &str, start: &str) -> Result<PlanEvents, Failure> {
    let path = ["orchestrator", "v1", "plan_jobs", number, "events"];
    client.get(&path, &[("start", start)]).await
}
