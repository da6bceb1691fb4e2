//! `tutti job run --until-converged`: repeats Puppet runs until the nodes have converged.
//!
//! Invariant: the server repeats the runs, as a plan job; it does so whether it is watched or not.

use api_types::{ConvergeCommand, ConvergenceLimits, DeployCommand};

use super::puppet_plan::{PuppetPlanCommand, start_puppet_plan};
use super::run::PuppetRunWatch;
use crate::VerbResult;
use crate::client::ApiClient;

/// Starts the runs, and watches them until the last wave has ended.
pub(super) async fn start(
    deploy: DeployCommand,
    limits: ConvergenceLimits,
    watch: PuppetRunWatch<'_>,
    client: &ApiClient,
) -> VerbResult {
    let plan = PuppetPlanCommand::new("converge", "Puppet runs until convergence", &deploy);
    let command = ConvergeCommand { deploy, limits };
    start_puppet_plan(&plan, &command, watch, client).await
}
