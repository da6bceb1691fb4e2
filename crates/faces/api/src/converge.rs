//! `POST command/converge`: runs Puppet on nodes until they have converged.
//!
//! Invariant: it needs the same rights as `command/deploy`, and its nodes are those that the scope names now.

use api_types::{ConvergeCommand, ConvergenceLimits};
use axum::extract::State;
use convergence::{CONVERGENCE_PLAN, ConvergenceLaunch, ConvergenceOptions};
use jobs::{JobWork, PuppetWork};
use serde_json::{Value, json};

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::plans::run::{PlanStartedReply, start_launch, started_reply};
use crate::puppet_plans::{PuppetPlan, without_scope};
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
    let shown = shown_params(nodes.len(), &limits);
    let launch = ConvergenceLaunch {
        nodes,
        command: without_scope(&deploy),
        code,
        options: ConvergenceOptions::from(&limits),
    };
    let plan = PuppetPlan {
        name: CONVERGENCE_PLAN,
        deploy: &deploy,
        code: &launch.code,
        stored: launch.to_stored(),
        shown,
    };
    let launch = plan.into_launch(&caller);
    let number = start_launch(&api, &launch, hold).await?;
    Ok(started_reply(&base, number))
}

fn shown_params(nodes: usize, limits: &ConvergenceLimits) -> Vec<(&'static str, Value)> {
    let options = ConvergenceOptions::from(limits);
    vec![
        ("nodes", json!(nodes)),
        ("max_waves", json!(options.max_waves)),
        ("min_gap", json!(options.min_gap.as_secs())),
        ("max_delay", json!(options.max_delay.as_secs())),
        ("strict", json!(options.strict)),
    ]
}
