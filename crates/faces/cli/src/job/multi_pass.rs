//! `tutti job run --multi-pass`: runs Puppet in passes on nodes that wait for each other.
//!
//! Invariant: the server makes the passes, as a plan job; it does so whether it is watched or not.

use api_types::{DeployCommand, MultiPassCommand};

use super::puppet_plan::{PuppetPlanCommand, start_puppet_plan};
use super::run::PuppetRunWatch;
use crate::VerbResult;
use crate::client::ApiClient;

/// Starts the first pass, and watches until the last one has ended.
pub(super) async fn start(
    deploy: DeployCommand,
    watch: PuppetRunWatch<'_>,
    client: &ApiClient,
) -> VerbResult {
    let plan = PuppetPlanCommand::new("multi_pass", "Puppet runs in passes", &deploy);
    start_puppet_plan(&plan, &MultiPassCommand { deploy }, watch, client).await
}
