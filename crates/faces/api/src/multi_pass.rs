//! `POST command/multi_pass`: runs Puppet on nodes of applications that wait for each other, in passes.
//!
//! Invariant: it needs the same rights as `command/deploy`, and its nodes and passes are those of the scope when it starts.

use api_types::multi_pass::MULTI_PASS_PLAN;
use api_types::{DeployCommand, MultiPassCommand};
use axum::extract::State;
use convergence::passes::MultiPassLaunch;
use environments::EnvironmentName;
use jobs::PlannedPasses;
use serde_json::{Value, json};

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::job_specs::{invalid_environment_name, run_job_error};
use crate::plans::run::{PlanStartedReply, started_reply};
use crate::puppet_plans::{PreparedPuppetPlan, PuppetPlan, RequestedRuns, without_scope};

pub(crate) async fn run(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    StrictBody(command): StrictBody<MultiPassCommand>,
) -> PlanStartedReply {
    command.check()?;
    let plan = prepare_passes(&api, &caller, &command.deploy).await?;
    let number = plan.start(&api).await?;
    Ok(started_reply(&base, number))
}

/// The plan of the passes, with the code, the nodes and the passes of the command now.
pub(crate) async fn prepare_passes(
    api: &SharedApiContext,
    caller: &ApiCaller,
    deploy: &DeployCommand,
) -> Result<PreparedPuppetPlan, ApiFailure> {
    let runs = RequestedRuns::new(api, caller, deploy).await?;
    let planned = plan_passes(api, deploy, &runs).await?;
    let shown = shown_params(&planned);
    let launch = MultiPassLaunch {
        planned: planned.passes,
        command: without_scope(deploy),
        code: runs.code.clone(),
    };
    let plan = PuppetPlan {
        name: MULTI_PASS_PLAN,
        stored: launch.to_stored(),
        shown,
    };
    Ok(runs.into_plan(plan, deploy, caller))
}

async fn plan_passes(
    api: &SharedApiContext,
    deploy: &DeployCommand,
    runs: &RequestedRuns,
) -> Result<PlannedPasses, ApiFailure> {
    let environment: EnvironmentName = deploy
        .environment
        .parse()
        .map_err(|error| invalid_environment_name(&deploy.environment, &error))?;
    let code_id = runs.code.code_id();
    let version = (&environment, code_id.as_ref());
    let planning = api
        .jobs
        .node_passes(&runs.spec.scope, version, &runs.spec.owner_id);
    planning.await.map_err(run_job_error)
}

fn shown_params(planned: &PlannedPasses) -> Vec<(&'static str, Value)> {
    let passes = &planned.passes.passes;
    let runs = passes.iter().flat_map(|pass| &pass.nodes);
    let last_runs = runs.filter(|run| run.left_out.is_empty());
    vec![
        ("nodes", json!(last_runs.count())),
        ("passes", json!(passes.len())),
    ]
}
