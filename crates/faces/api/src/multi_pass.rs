//! `POST command/multi_pass`: runs Puppet on nodes of applications that wait for each other, in passes.
//!
//! Invariant: it needs the same rights as `command/deploy`, and its nodes and passes are those of the scope now.

use ::plans::PlanLaunch;
use api_types::multi_pass::MULTI_PASS_PLAN;
use api_types::{DeployCommand, MultiPassCommand, ScopeKind};
use axum::extract::State;
use convergence::passes::MultiPassLaunch;
use environments::EnvironmentName;
use jobs::{JobSpec, JobWork, PlannedPasses, PuppetWork};
use serde_json::{Map, Value, json};

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::job_specs::{invalid_environment_name, run_job_error};
use crate::plans::run::{PlanStartedReply, start_launch, started_reply};
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
    let params = shown_params(&deploy, &planned);
    let launch = MultiPassLaunch {
        passes: planned.passes.passes,
        command: DeployCommand {
            scope: None,
            ..deploy.clone()
        },
        code,
    };
    let launch = PlanLaunch {
        plan: MULTI_PASS_PLAN.to_owned(),
        environment: deploy.environment,
        params,
        description: deploy.description,
        userdata: deploy.userdata,
        // What the code of a running plan job names is kept.
        code: Some(launch.code.mode().to_owned()),
        code_id: launch.code.code_id().map(|code_id| code_id.to_string()),
        built_in: Some(launch.to_stored()),
        owner: caller.0.login.clone(),
        owner_id: caller.0.user_id.clone(),
        ..PlanLaunch::default()
    };
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

/// The parameters that are shown with the plan job. A list of nodes may be very long.
fn shown_params(deploy: &DeployCommand, planned: &PlannedPasses) -> Map<String, Value> {
    let passes = &planned.passes.passes;
    let last_runs = passes.iter().flat_map(|pass| &pass.nodes);
    let nodes = last_runs.filter(|run| run.left_out.is_empty()).count();
    let scope = deploy
        .scope
        .clone()
        .and_then(|scope| scope.into_kind().ok());
    let scope = match scope {
        Some(ScopeKind::Nodes(_)) | None => Value::Null,
        Some(_) => json!(deploy.scope),
    };
    let shown = [
        ("nodes", json!(nodes)),
        ("passes", json!(passes.len())),
        ("scope", scope),
    ];
    let shown = shown.into_iter().filter(|(_, value)| !value.is_null());
    shown
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
