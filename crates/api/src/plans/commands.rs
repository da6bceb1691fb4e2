//! `POST command/plan_start`, `plan_task`, `plan_finish`, `stop_plan`, `plan_run` and
//! `environment_plan_run`.

use api_types::{
    ApiError, EnvironmentPlanRunCommand, JobCreated, PlanFinishCommand, PlanName, PlanRunCommand,
    PlanStartCommand, PlanStatus, StopPlanCommand, TaskCommand, kinds,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jobs::{PlanEnd, PlanStart};
use serde_json::json;

use super::{plan_name, refusal};
use crate::Shared;
use crate::base::Base;
use crate::body::Strict;
use crate::code;
use crate::failure::Failure;
use crate::given::job_number;
use crate::guard::Caller;
use crate::task;

type Named = Result<(StatusCode, Json<PlanName>), Failure>;

/// This server runs no plans: what is asked is checked in full, and then it is said who runs them.
pub(crate) async fn run(
    State(api): State<Shared>,
    caller: Caller,
    Strict(command): Strict<PlanRunCommand>,
) -> Named {
    command.check()?;
    refuse(&api, &caller, &command.plan_name, &command.environment).await
}

pub(crate) async fn environment_run(
    State(api): State<Shared>,
    caller: Caller,
    Strict(command): Strict<EnvironmentPlanRunCommand>,
) -> Named {
    command.check()?;
    refuse(&api, &caller, &command.plan_name, &command.environment).await
}

async fn refuse(api: &Shared, caller: &Caller, plan: &str, environment: &str) -> Named {
    let name = plan_name("plan_name", plan)?;
    caller.demand(api, "plans", "run", name.as_str())?;
    let asked = name.clone();
    let (environment, _) = code::read(api, environment, move |code| code.plan(&asked)).await?;
    let msg = format!(
        "the plan `{name}` is there, but this server does not run plans itself: run it with Bolt over \
         the pcp transport"
    );
    let refused = ApiError::new(kinds::NOT_SUPPORTED, msg);
    let refused = refused.with("plan", json!(name.as_str()));
    Err(refused.with("environment", json!(environment.name)).into())
}

pub(crate) async fn start(
    State(api): State<Shared>,
    caller: Caller,
    Strict(command): Strict<PlanStartCommand>,
) -> Named {
    command.check()?;
    let plan = PlanStart {
        plan: command.plan_name,
        params: command.params,
        sensitive: command.sensitive,
        description: command.description,
        owner: caller.0.login.clone(),
        owner_id: caller.0.user_id.clone(),
        ..PlanStart::default()
    };
    let number = api.jobs.plans().start(plan).await.map_err(refusal)?;
    Ok(named(number))
}

pub(crate) async fn task(
    State(api): State<Shared>,
    base: Base,
    caller: Caller,
    Strict(mut command): Strict<TaskCommand>,
) -> Result<(StatusCode, Json<JobCreated>), Failure> {
    let Some(plan_job) = command.plan_job.take() else {
        return Err(ApiError::invalid("plan_job", "this key is needed").into());
    };
    let plan_job = number(&plan_job)?;
    let (mut request, not_permitted) = Box::pin(task::prepared(&api, &caller, command)).await?;
    request.plan_job = Some(plan_job);
    let job = api.jobs.run_task(request).await.map_err(task::refusal)?;
    let job = base.job(job);
    Ok((
        StatusCode::ACCEPTED,
        Json(JobCreated { job, not_permitted }),
    ))
}

pub(crate) async fn finish(
    State(api): State<Shared>,
    caller: Caller,
    Strict(command): Strict<PlanFinishCommand>,
) -> Named {
    let number = number(&command.plan_job)?;
    let end = PlanEnd {
        success: command.status == PlanStatus::Success,
        result: command.result,
    };
    let plans = api.jobs.plans();
    let finished = plans.finish(number, &caller.0.user_id, end).await;
    finished.map_err(refusal)?;
    Ok(named(number))
}

pub(crate) async fn stop(
    State(api): State<Shared>,
    caller: Caller,
    Strict(command): Strict<StopPlanCommand>,
) -> Named {
    let number = number(&command.plan_job)?;
    let stopped = api.jobs.plans().stop(number, &caller.0.login).await;
    stopped.map_err(refusal)?;
    Ok(named(number))
}

fn number(text: &str) -> Result<i64, ApiError> {
    Ok(job_number("plan_job", text)?.get())
}

fn named(number: i64) -> (StatusCode, Json<PlanName>) {
    let name = number.to_string();
    (StatusCode::ACCEPTED, Json(PlanName { name }))
}
