//! `POST command/converge`: runs Puppet on nodes until they have converged.
//!
//! Invariant: it needs the same rights as `command/deploy`, and its nodes are those that the scope names now.

use ::plans::PlanLaunch;
use api_types::{ConvergeCommand, ConvergenceLimits, DeployCommand, ScopeKind};
use axum::extract::State;
use convergence::{CONVERGENCE_PLAN, ConvergenceLaunch, ConvergenceOptions};
use jobs::{JobWork, PuppetWork};
use serde_json::{Map, Value, json};

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::plans::run::{PlanStartedReply, start_launch, started_reply};
use crate::puppet_runs::{self, RequestedCode, choose_code};
use crate::refusals::scope_refusal;

pub(crate) async fn run(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    StrictBody(command): StrictBody<ConvergeCommand>,
) -> PlanStartedReply {
    command.check()?;
    let ConvergeCommand { deploy, limits } = command;
    let code = RequestedCode::of(&deploy);
    let mut spec = puppet_runs::request(&api, &caller, deploy.clone())?;
    // first, because applications are those of the code
    let hold = choose_code(&api, &mut spec, code).await?;
    let nodes = api.jobs.resolve_job(&spec).await.map_err(scope_refusal)?;
    let JobWork::Puppet(PuppetWork { code, .. }) = spec.work else {
        unreachable!("the command is a run of Puppet");
    };
    let params = shown_params(&deploy, nodes.len(), &limits);
    let launch = ConvergenceLaunch {
        nodes,
        command: DeployCommand {
            scope: None,
            ..deploy.clone()
        },
        code,
        options: ConvergenceOptions::from(&limits),
    };
    let launch = PlanLaunch {
        plan: CONVERGENCE_PLAN.to_owned(),
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

/// The parameters that are shown with the plan job. A list of nodes may be very long.
fn shown_params(
    deploy: &DeployCommand,
    nodes: usize,
    limits: &ConvergenceLimits,
) -> Map<String, Value> {
    let scope = deploy
        .scope
        .clone()
        .and_then(|scope| scope.into_kind().ok());
    let scope = match scope {
        Some(ScopeKind::Nodes(_)) | None => Value::Null,
        Some(_) => json!(deploy.scope),
    };
    let options = ConvergenceOptions::from(limits);
    let shown = [
        ("nodes", json!(nodes)),
        ("scope", scope),
        ("max_waves", json!(options.max_waves)),
        ("min_gap", json!(options.min_gap.as_secs())),
        ("max_delay", json!(options.max_delay.as_secs())),
        ("strict", json!(options.strict)),
    ];
    let shown = shown.into_iter().filter(|(_, value)| !value.is_null());
    shown
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
