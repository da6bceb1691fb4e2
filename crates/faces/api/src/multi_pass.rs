//! `POST command/multi_pass`: runs Puppet on nodes of applications that wait for each other, in passes.
//!
//! Invariant: it needs the same rights as `command/deploy`, and its nodes and passes are those of the scope now.

use api_types::multi_pass::MULTI_PASS_PLAN;
use api_types::{DeployCommand, MultiPassCommand};
use axum::extract::State;
use convergence::passes::MultiPassLaunch;
use environments::EnvironmentName;
use jobs::{JobSpec, JobWork, PlannedPasses, PuppetWork};
use serde_json::{Value, json};

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::job_specs::{invalid_environment_name, run_job_error};
use crate::plans::run::{PlanStartedReply, start_launch, started_reply};
use crate::puppet_plans::{PuppetPlan, without_scope};
use crate::puppet_runs::{self, RequestedCode, choose_code};

pub(crate) async fn run(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    StrictBody(command): StrictBody<MultiPassCommand>,
) -> PlanStartedReply {
    command.check()?;
    let MultiPassCommand { deploy } = command;
    let code = RequestedCode::of(&deploy);
    let mut spec = puppet_runs::request(&api, &caller, deploy.clone())?;
    // first, because applications are those of the code
    let hold = choose_code(&api, &mut spec, code).await?;
    let planned = plan_passes(&api, &deploy, &spec).await?;
    let JobWork::Puppet(PuppetWork { code, .. }) = spec.work else {
        unreachable!("the command is a run of Puppet");
    };
    let shown = shown_params(&planned);
    let launch = MultiPassLaunch {
        planned: planned.passes,
        command: without_scope(&deploy),
        code,
    };
    let plan = PuppetPlan {
        name: MULTI_PASS_PLAN,
        deploy: &deploy,
        code: &launch.code,
        stored: launch.to_stored(),
        shown,
    };
    let launch = plan.into_launch(&caller);
    let number = start_launch(&api, &launch, hold).await?;
    Ok(started_reply(&base, number))
}

async fn plan_passes(
    api: &SharedApiContext,
    deploy: &DeployCommand,
    spec: &JobSpec,
) -> Result<PlannedPasses, ApiFailure> {
    let environment: EnvironmentName = deploy
        .environment
        .parse()
        .map_err(|error| invalid_environment_name(&deploy.environment, &error))?;
    let JobWork::Puppet(work) = &spec.work else {
        unreachable!("the command is a run of Puppet");
    };
    let code_id = work.code.code_id();
    let version = (&environment, code_id.as_ref());
    let planning = api.jobs.node_passes(&spec.scope, version, &spec.owner_id);
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
