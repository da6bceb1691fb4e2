//! `tutti command run LINE`. Main type: [`Options`].

use api_types::ActionType;
use serde_json::Value;

use super::start::JobOptions;
use crate::VerbResult;
use crate::client::ApiClient;
use crate::failure::usage;
use crate::input::text_or_file;

/// Arguments of `tutti command run`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The shell command line, in quotes; or @FILE that contains it
    command: String,
    #[command(flatten)]
    job: JobOptions,
}

pub(super) async fn run(options: Options, client: &ApiClient) -> VerbResult {
    let (_, line) = text_or_file("COMMAND", &options.command)?;
    if line.trim().is_empty() {
        return usage(
            "there is no command; write it in quotes, as in `tutti command run 'uptime' -t all`",
        );
    }
    let heading = format!("command {}", line.lines().next().unwrap_or_default());
    let params = vec![("command", Value::from(line))];
    let job = options
        .job
        .start(client, ActionType::Command, params, &heading);
    Box::pin(job).await
}
