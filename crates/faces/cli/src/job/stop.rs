//! `tutti job stop ID`. Main function: [`run`].

use api_types::{StopCommand, StopReply};

use crate::client::ApiClient;
use crate::terminal::escape_control;
use crate::{EXIT_SUCCESS, VerbResult};

pub(crate) async fn run(job: String, force: bool, client: &ApiClient) -> VerbResult {
    let path = ["orchestrator", "v1", "command", "stop"];
    let reply: StopReply = client.post(&path, &StopCommand { job, force }).await?;
    let nodes = reply.job.nodes;
    let name = escape_control(&reply.job.name);
    if nodes.running + nodes.new == 0 {
        say!("Job {name}: no node is waiting or running");
        return Ok(EXIT_SUCCESS);
    }
    say!(
        "Stopping job {name}{}: {} running, {} not started, {} finished, {} failed, {} errored, {} skipped",
        if force { " by force" } else { "" },
        nodes.running,
        nodes.new,
        nodes.finished,
        nodes.failed,
        nodes.errored,
        nodes.skipped
    );
    Ok(EXIT_SUCCESS)
}
