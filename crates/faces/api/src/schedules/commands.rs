//! The deprecated routes: `command/schedule_*` and `DELETE scheduled_jobs/:id`.

use api_types::schedules::{ScheduleCommand, ScheduledJobReply, ScheduledType};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::number;
use super::write::{created, disable, reply};
use crate::Shared;
use crate::base::Base;
use crate::body::Strict;
use crate::failure::Failure;
use crate::given::{Given, Variables};
use crate::guard::Caller;

type Made = (StatusCode, Json<ScheduledJobReply>);

pub(crate) async fn schedule_deploy(
    State(api): State<Shared>,
    base: Base,
    caller: Caller,
    Strict(command): Strict<ScheduleCommand>,
) -> Result<Made, Failure> {
    put_off(&api, &base, &caller, command, ScheduledType::Deploy).await
}

pub(crate) async fn schedule_task(
    State(api): State<Shared>,
    base: Base,
    caller: Caller,
    Strict(command): Strict<ScheduleCommand>,
) -> Result<Made, Failure> {
    put_off(&api, &base, &caller, command, ScheduledType::Task).await
}

pub(crate) async fn schedule_plan(
    State(api): State<Shared>,
    base: Base,
    caller: Caller,
    Strict(command): Strict<ScheduleCommand>,
) -> Result<Made, Failure> {
    put_off(&api, &base, &caller, command, ScheduledType::Plan).await
}

async fn put_off(
    api: &Shared,
    base: &Base,
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
    Variables(id): Variables<String>,
    Given(given): Given,
) -> Result<StatusCode, Failure> {
    given.finish()?;
    let read = api.schedules.get(number(&id)?).await?;
    disable(&api, &caller, &read).await?;
    Ok(StatusCode::NO_CONTENT)
}
