//! The deprecated routes: `command/schedule_*` and `DELETE scheduled_jobs/:id`.

use api_types::schedules::{ScheduleCommand, ScheduledJobReply, ScheduledType};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::number;
use super::write::{created, disable, reply};
use crate::Shared;
use crate::base::BaseUrl;
use crate::body::StrictBody;
use crate::failure::Failure;
use crate::guard::Caller;
use crate::request_parameters::{PathVariables, QueryParameters};

type Made = (StatusCode, Json<ScheduledJobReply>);

pub(crate) async fn schedule_deploy(
    State(api): State<Shared>,
    base: BaseUrl,
    caller: Caller,
    StrictBody(command): StrictBody<ScheduleCommand>,
) -> Result<Made, Failure> {
    put_off(&api, &base, &caller, command, ScheduledType::Deploy).await
}

pub(crate) async fn schedule_task(
    State(api): State<Shared>,
    base: BaseUrl,
    caller: Caller,
    StrictBody(command): StrictBody<ScheduleCommand>,
) -> Result<Made, Failure> {
    put_off(&api, &base, &caller, command, ScheduledType::Task).await
}

pub(crate) async fn schedule_plan(
    State(api): State<Shared>,
    base: BaseUrl,
    caller: Caller,
    StrictBody(command): StrictBody<ScheduleCommand>,
) -> Result<Made, Failure> {
    put_off(&api, &base, &caller, command, ScheduledType::Plan).await
}

async fn put_off(
    api: &Shared,
    base: &BaseUrl,
    caller: &Caller,
    command: ScheduleCommand,
    kind: ScheduledType,
) -> Result<Made, Failure> {
    let asked = command.into_job(kind)?;
    let id = Box::pin(created(api, caller, asked)).await?;
    let reply = reply(base.at(&format!("scheduled_jobs/{id}")), id);
    Ok((StatusCode::ACCEPTED, Json(reply)))
}

pub(crate) async fn delete(
    State(api): State<Shared>,
    caller: Caller,
    PathVariables(id): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<StatusCode, Failure> {
    given.finish()?;
    let read = api.schedules.get(number(&id)?).await?;
    disable(&api, &caller, &read).await?;
    Ok(StatusCode::NO_CONTENT)
}
