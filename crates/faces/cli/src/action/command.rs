//! `tutti command run LINE`. Main type: [`ConfigFileKeys`].

use api_types::ActionType;
use serde_json::Value;

use super::start::JobOptions;
use crate::client::ApiClient;
use crate::input::read_limited;
use crate::{CommandFailure, VerbResult};

/// Arguments of `tutti command run`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The shell command line, in quotes; or @FILE that contains it
    command: String,
    #[command(flatten)]
    job: JobOptions,
}

pub(super) async fn run(options: Options, client: &ApiClient) -> VerbResult {
    let line = match options.command.strip_prefix('@') {
        Some(path) => read_limited(path.as_ref())?,
        None => options.command,
    };
    if line.trim().is_empty() {
        let what =
            "there is no command; write it in quotes, as in `tutti command run 'uptime' -t all`";
        return Err(CommandFailure::Usage(what.to_owned()));
    }
    let heading = format!("command {}", line.lines().next().unwrap_or_default());
    let params = vec![("command", Value::from(line))];
    let job = options
        .job
        .start(client, ActionType::Command, params, &heading);
    Box::pin(job).await
}
