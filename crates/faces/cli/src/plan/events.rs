//! `tutti plan events ID`. Main type: [`Options`].

use api_types::PlanEvent;

use super::requests::fetch_events;
use super::{follow, preview};
use crate::VerbResult;
use crate::client::ApiClient;
use crate::present::OutputOptions;
use crate::terminal::{escape_control, escaped_name, style_dim};

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
