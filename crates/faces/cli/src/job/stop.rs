//! `tutti job stop ID`. Main type: [`ConfigFileKeys`].

use api_types::{StopCommand, StopReply};

use crate::client::ApiClient;
use crate::{EXIT_SUCCESS, VerbResult, terminal};

/// Arguments of `tutti job stop`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Number of the job
    job: String,
    /// Kill running actions, with every process that they started
    #[arg(long)]
    force: bool,
}

pub(crate) async fn run(options: Options, client: &ApiClient) -> VerbResult {
    let command = StopCommand {
        job: options.job,
        force: options.force,
    };
    let reply: StopReply = client
        .post(&["orchestrator", "v1", "command", "stop"], &command)
        .await?;
    let nodes = reply.job.nodes;
    let name = terminal::escape_control(&reply.job.name);
    if nodes.running + nodes.new == 0 {
        say!("Job {name}: no node is waiting or running");
        return Ok(EXIT_SUCCESS);
    }
    say!(
        "Stopping job {}{}: {} running, {} not started, {} finished, {} failed, {} errored, {} skipped",
        name,
        if options.force { " by force" } else { "" },
        nodes.running,
        nodes.new,
        nodes.finished,
        nodes.failed,
        nodes.errored,
        nodes.skipped
    );
    Ok(EXIT_SUCCESS)
}
