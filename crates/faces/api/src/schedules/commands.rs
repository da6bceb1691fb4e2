//! The deprecated routes: `command/schedule_*` and `DELETE scheduled_jobs/:id`.

use api_types::schedules::{ScheduleCommand, ScheduledJobReply, ScheduledType};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::parse_schedule_number;
use super::write::{create_schedule, disable, schedule_reply};
use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::{PathVariables, QueryParameters};

type ScheduleCreatedReply = (StatusCode, Json<ScheduledJobReply>);

pub(crate) async fn schedule_deploy(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    StrictBody(command): StrictBody<ScheduleCommand>,
) -> Result<ScheduleCreatedReply, ApiFailure> {
    schedule_job(&api, &base, &caller, command, ScheduledType::Deploy).await
}

pub(crate) async fn schedule_task(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    StrictBody(command): StrictBody<ScheduleCommand>,
) -> Result<ScheduleCreatedReply, ApiFailure> {
    schedule_job(&api, &base, &caller, command, ScheduledType::Task).await
}

pub(crate) async fn schedule_plan(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    StrictBody(command): StrictBody<ScheduleCommand>,
) -> Result<ScheduleCreatedReply, ApiFailure> {
    schedule_job(&api, &base, &caller, command, ScheduledType::Plan).await
}

async fn schedule_job(
    api: &SharedApiContext,
    base: &BaseUrl,
    caller: &ApiCaller,
    command: ScheduleCommand,
    kind: ScheduledType,
) -> Result<ScheduleCreatedReply, ApiFailure> {
    let asked = command.into_job(kind)?;
    let id = Box::pin(create_schedule(api, caller, asked)).await?;
    let reply = schedule_reply(base.orchestrator_url(&format!("scheduled_jobs/{id}")), id);
    Ok((StatusCode::ACCEPTED, Json(reply)))
}

pub(crate) async fn delete(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(id): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<StatusCode, ApiFailure> {
    given.finish()?;
    let read = api
        .scheduler
        .schedules
        .get(parse_schedule_number(&id)?)
        .await?;
    disable(&api, &caller, &read).await?;
    Ok(StatusCode::NO_CONTENT)
}
