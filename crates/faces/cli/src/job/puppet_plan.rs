//! Commands whose answer is a plan job that runs Puppet: [`start_puppet_plan`].
//!
//! Invariant: the server runs the plan, whether it is watched or not.

use api_types::{DeployCommand, PlanName};
use serde::Serialize;

use super::run::PuppetRunWatch;
use crate::client::ApiClient;
use crate::plan;
use crate::terminal::{escape_control, style_heading};
use crate::{EXIT_SUCCESS, OutputFormat, VerbResult};

/// A command of Puppet runs.
pub(super) struct PuppetPlanCommand<'a> {
    /// Last part of the command's path.
    name: &'a str,
    /// What the plan does, as a heading.
    heading: &'a str,
    /// The environment of the runs, in words.
    environment: String,
    /// Empty, or ` (noop)`.
    mode: &'a str,
}

// === impl PuppetPlanCommand ===

impl<'a> PuppetPlanCommand<'a> {
    pub(super) fn new(name: &'a str, heading: &'a str, deploy: &DeployCommand) -> Self {
        let is_enforced = deploy.enforce_environment;
        Self {
            name,
            heading,
            environment: super::puppet::describe_environment(&deploy.environment, is_enforced),
            mode: if deploy.noop { " (noop)" } else { "" },
        }
    }
}

/// Starts the plan job, and watches it until its end.
pub(super) async fn start_puppet_plan(
    command: &PuppetPlanCommand<'_>,
    body: &impl Serialize,
    watch: PuppetRunWatch<'_>,
    client: &ApiClient,
) -> VerbResult {
    let path = ["orchestrator", "v1", "command", command.name];
    let PlanName { name } = client.post(&path, body).await?;
    if watch.no_wait {
        say!("{}", escape_control(&name));
        return Ok(EXIT_SUCCESS);
    }
    if watch.format == OutputFormat::Human {
        let number = style_heading(escape_control(&name));
        let heading = style_heading(command.heading);
        let (mode, environment) = (command.mode, &command.environment);
        say!(
            "Plan job {number}: {heading}{mode} on {}, environment {environment}\n",
            watch.told
        );
    }
    plan::follow::follow(client, &name, watch.format).await
}
