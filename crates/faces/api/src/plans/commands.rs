//! `POST command/plan_start`, `plan_task` and `plan_finish`: the record of a plan that Bolt runs.

use api_types::{
    ApiError, JobCreated, PlanFinishCommand, PlanName, PlanStartCommand, PlanStatus, TaskCommand,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jobs::{PlanEnd, PlanStart};

use super::refusal;
use crate::Shared;
use crate::base::BaseUrl;
use crate::body::StrictBody;
use crate::failure::Failure;
use crate::guard::Caller;
use crate::request_parameters::job_number;
use crate::task;

pub(super) type Named = Result<(StatusCode, Json<PlanName>), Failure>;

pub(crate) async fn start(
    State(api): State<Shared>,
    caller: Caller,
    StrictBody(command): StrictBody<PlanStartCommand>,
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
    let number = api.jobs.plan_jobs().start(plan).await.map_err(refusal)?;
    Ok(named(number))
}

pub(crate) async fn task(
    State(api): State<Shared>,
    base: BaseUrl,
    caller: Caller,
    StrictBody(mut command): StrictBody<TaskCommand>,
) -> Result<(StatusCode, Json<JobCreated>), Failure> {
    let Some(plan_job) = command.plan_job.take() else {
        return Err(ApiError::invalid("plan_job", "this key is needed").into());
    };
    let plan_job = number(&plan_job)?;
    let (mut request, not_permitted) = Box::pin(task::prepared(&api, &caller, command)).await?;
    request.plan_job = Some(plan_job);
    let job = task::started(&api, request).await?;
    let job = base.job(job);
    Ok((
        StatusCode::ACCEPTED,
        Json(JobCreated { job, not_permitted }),
    ))
}

pub(crate) async fn finish(
    State(api): State<Shared>,
    caller: Caller,
    StrictBody(command): StrictBody<PlanFinishCommand>,
) -> Named {
    let number = number(&command.plan_job)?;
    let end = PlanEnd {
        success: command.status == PlanStatus::Success,
        result: command.result,
    };
    let plans = api.jobs.plan_jobs();
    let finished = plans.finish(number, &caller.0.user_id, end).await;
    finished.map_err(refusal)?;
    Ok(named(number))
}

pub(super) fn number(text: &str) -> Result<i64, ApiError> {
    Ok(job_number("plan_job", text)?.get())
}

pub(super) fn named(number: i64) -> (StatusCode, Json<PlanName>) {
    let name = number.to_string();
    (StatusCode::ACCEPTED, Json(PlanName { name }))
}
