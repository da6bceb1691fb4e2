//! `POST command/plan_start`, `plan_task` and `plan_finish`: the record of a plan that Bolt runs.

use api_types::{
    ApiError, JobCreated, PlanFinishCommand, PlanName, PlanStartCommand, PlanStatus, TaskCommand,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jobs::{JobPlanStep, PlanEnd, PlanStart};

use super::plan_job_error;
use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::job_specs::create_job;
use crate::request_parameters::job_number;
use crate::task;

pub(super) type PlanNameReply = Result<(StatusCode, Json<PlanName>), ApiFailure>;

pub(crate) async fn start(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    StrictBody(command): StrictBody<PlanStartCommand>,
) -> PlanNameReply {
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
    let number = api
        .jobs
        .plan_jobs()
        .start(plan)
        .await
        .map_err(plan_job_error)?;
    Ok(plan_name_reply(number))
}

pub(crate) async fn run_plan_task(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    StrictBody(mut command): StrictBody<TaskCommand>,
) -> Result<(StatusCode, Json<JobCreated>), ApiFailure> {
    let Some(plan_job) = command.plan_job.take() else {
        return Err(ApiError::invalid("plan_job", "this key is needed").into());
    };
    let plan_job = parse_plan_job(&plan_job)?;
    let (mut spec, not_permitted) = Box::pin(task::prepare_task(&api, &caller, command)).await?;
    spec.plan_step = Some(JobPlanStep {
        plan_job,
        mark: None,
        after_restart: false,
    });
    let job = create_job(&api, spec).await?;
    let job = base.job_url(job);
    Ok((
        StatusCode::ACCEPTED,
        Json(JobCreated { job, not_permitted }),
    ))
}

pub(crate) async fn finish(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    StrictBody(command): StrictBody<PlanFinishCommand>,
) -> PlanNameReply {
    let number = parse_plan_job(&command.plan_job)?;
    let end = PlanEnd {
        success: command.status == PlanStatus::Success,
        result: command.result,
    };
    let plans = api.jobs.plan_jobs();
    let finished = plans.finish(number, &caller.0.user_id, end).await;
    finished.map_err(plan_job_error)?;
    Ok(plan_name_reply(number))
}

pub(super) fn parse_plan_job(text: &str) -> Result<i64, ApiError> {
    Ok(job_number("plan_job", text)?.get())
}

pub(super) fn plan_name_reply(number: i64) -> (StatusCode, Json<PlanName>) {
    let name = number.to_string();
    (StatusCode::ACCEPTED, Json(PlanName { name }))
}
