//! `tutti job run --multi-pass`: runs Puppet in passes on nodes that wait for each other.
//!
//! Invariant: the server makes the passes, as a plan job; it does so whether it is watched or not.

use api_types::{DeployCommand, MultiPassCommand, PlanName};

use super::run::PuppetRunWatch;
use crate::client::ApiClient;
use crate::plan;
use crate::terminal::{escape_control, style_heading};
use crate::{EXIT_SUCCESS, OutputFormat, VerbResult};

/// Starts the first pass, and watches until the last one has ended.
pub(super) async fn start(
    deploy: DeployCommand,
    watch: PuppetRunWatch<'_>,
    client: &ApiClient,
) -> VerbResult {
    let environment =
        super::puppet::describe_environment(&deploy.environment, deploy.enforce_environment);
    let mode = if deploy.noop { " (noop)" } else { "" };
    let path = ["orchestrator", "v1", "command", "multi_pass"];
    let command = MultiPassCommand { deploy };
    let PlanName { name } = client.post(&path, &command).await?;
    if watch.no_wait {
        say!("{}", escape_control(&name));
        return Ok(EXIT_SUCCESS);
    }
    if watch.format == OutputFormat::Human {
        let number = style_heading(escape_control(&name));
        let puppet_runs = style_heading("Puppet runs in passes");
        say!(
            "Plan job {number}: {puppet_runs}{mode} on {}, environment {environment}\n",
            watch.told
        );
    }
    plan::follow::follow(client, &name, watch.format).await
}
