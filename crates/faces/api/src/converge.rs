//! `POST command/converge`: runs Puppet on nodes until they have converged.
//!
//! Invariant: it needs the same rights as `command/deploy`, and its nodes are those that the scope names when it starts.

use api_types::ConvergeCommand;
use axum::extract::State;
use convergence::{CONVERGENCE_PLAN, ConvergenceLaunch, ConvergenceOptions};
use serde_json::{Value, json};

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::plans::run::{PlanStartedReply, started_reply};
use crate::puppet_plans::{PreparedPuppetPlan, PuppetPlan, RequestedRuns, without_scope};
use crate::refusals::scope_refusal;

pub(crate) async fn run(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    StrictBody(command): StrictBody<ConvergeCommand>,
) -> PlanStartedReply {
    command.check()?;
    let plan = prepare_waves(&api, &caller, &command).await?;
    let number = plan.start(&api).await?;
    Ok(started_reply(&base, number))
}

/// The plan of the waves, with the code and the nodes that the command names now.
pub(crate) async fn prepare_waves(
    api: &SharedApiContext,
    caller: &ApiCaller,
    command: &ConvergeCommand,
) -> Result<PreparedPuppetPlan, ApiFailure> {
    let ConvergeCommand { deploy, limits } = command;
    let runs = RequestedRuns::new(api, caller, deploy).await?;
    let nodes = api.jobs.resolve_job(&runs.spec).await;
    let nodes = nodes.map_err(scope_refusal)?;
    let options = ConvergenceOptions::from(limits);
    let shown = shown_params(nodes.len(), &options);
    let launch = ConvergenceLaunch {
        nodes,
        command: without_scope(deploy),
        code: runs.code.clone(),
        options,
    };
    let plan = PuppetPlan {
        name: CONVERGENCE_PLAN,
        stored: launch.to_stored(),
        shown,
    };
    Ok(runs.into_plan(plan, deploy, caller))
}

fn shown_params(nodes: usize, options: &ConvergenceOptions) -> Vec<(&'static str, Value)> {
    vec![
        ("nodes", json!(nodes)),
        ("max_waves", json!(options.max_waves)),
        ("min_gap", json!(options.min_gap.as_secs())),
        ("max_delay", json!(options.max_delay.as_secs())),
        ("strict", json!(options.strict)),
    ]
}
