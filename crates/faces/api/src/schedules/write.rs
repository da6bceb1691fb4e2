//! `POST scheduled_jobs/environment_jobs` and `PUT …/:id`.
//!
//! Invariant: values of sensitive parameters are stored in the encrypted part of the draft only.

use api_types::schedules::{
    CreateScheduledJob, ScheduledInput, ScheduledJobRef, ScheduledJobReply, ScheduledType,
    UpdateScheduledJob,
};
use api_types::{ApiError, Object, kinds};
use axum::Json;
use axum::extract::State;
use schedules::{ScheduleDraft, ScheduleError, ScheduleView, ScheduledJobKind};
use serde_json::{Value, json};
use store::now_ms;

use super::check::check;
use super::parse_schedule_number;
use super::responses::{address, schedule_type};
use super::times::timetable;
use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;

pub(crate) async fn create(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    StrictBody(asked): StrictBody<CreateScheduledJob>,
) -> Result<Json<ScheduledJobReply>, ApiFailure> {
    let id = Box::pin(create_schedule(&api, &caller, asked)).await?;
    Ok(Json(schedule_reply(address(&base, id), id)))
}

/// Creates a scheduled job of the caller.
pub(super) async fn create_schedule(
    api: &SharedApiContext,
    caller: &ApiCaller,
    asked: CreateScheduledJob,
) -> Result<i64, ApiFailure> {
    asked.check()?;
    let kind = engine_kind(asked.kind);
    let wanted = ScheduleRequest {
        kind: asked.kind,
        input: asked.input,
        environment: asked.environment,
        description: asked.description,
        userdata: asked.userdata,
    };
    let timetable = timetable(asked.schedule, now_ms())?;
    let draft = wanted.draft(api, caller, timetable, Vec::new()).await?;
    let owner = &caller.0;
    let made = api
        .scheduler
        .schedules
        .create(kind, &owner.login, &owner.user_id, draft);
    Ok(Box::pin(made).await?)
}

pub(crate) async fn update(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    crate::request_parameters::PathVariables(id): crate::request_parameters::PathVariables<String>,
    StrictBody(asked): StrictBody<UpdateScheduledJob>,
) -> Result<Json<ScheduledJobReply>, ApiFailure> {
    asked.check()?;
    let id = parse_schedule_number(&id)?;
    let read = api.scheduler.schedules.get(id).await?;
    if asked.enabled == Some(false) {
        disable(&api, &caller, &read).await?;
        return Ok(Json(schedule_reply(address(&base, id), id)));
    }
    if read.owner_id != caller.0.user_id {
        return Err(not_owner(&read).into());
    }
    if !read.enabled {
        return Err(ScheduleError::Disabled(id).into());
    }
    Box::pin(replace(&api, &caller, &read, asked)).await?;
    Ok(Json(schedule_reply(address(&base, id), id)))
}

async fn replace(
    api: &SharedApiContext,
    caller: &ApiCaller,
    read: &ScheduleView,
    asked: UpdateScheduledJob,
) -> Result<(), ApiFailure> {
    let old = api.scheduler.schedules.get_draft(read.id).await?;
    // A parameter stays sensitive, even if the task's metadata changes.
    let secret = old.secrets.keys().cloned().collect();
    let new_times = asked.schedule.is_some();
    let timetable = match asked.schedule {
        Some(schedule) => timetable(schedule, now_ms())?,
        None => old.timetable.clone(),
    };
    let wanted = ScheduleRequest {
        kind: schedule_type(read.kind),
        input: asked
            .input
            .unwrap_or_else(|| join_input(read.kind, &old.name, &old.input, &old.secrets)),
        environment: asked.environment.unwrap_or(old.environment),
        description: asked.description.unwrap_or(old.description),
        userdata: asked.userdata.unwrap_or(old.userdata),
    };
    let draft = wanted.draft(api, caller, timetable, secret).await?;
    Ok(api
        .scheduler
        .schedules
        .replace(read, draft, new_times)
        .await?)
}

/// Deletes a scheduled job: the caller's own, or another user's with the permission.
pub(super) async fn disable(
    api: &SharedApiContext,
    caller: &ApiCaller,
    read: &ScheduleView,
) -> Result<(), ApiFailure> {
    if read.owner_id != caller.0.user_id {
        caller.demand(api, "scheduled_jobs", "delete", &read.owner_id)?;
    }
    Ok(api.scheduler.schedules.disable(read.id).await?)
}

fn not_owner(read: &ScheduleView) -> ApiError {
    let msg = format!(
        "the scheduled job {} runs with the rights of {}, who alone may change it; others may delete \
         it with the permission scheduled_jobs:delete",
        read.id, read.owner
    );
    ApiError::new(kinds::NOT_PERMITTED, msg).with("owner", json!(read.owner))
}

/// An unchecked request to schedule a job.
struct ScheduleRequest {
    kind: ScheduledType,
    input: Object,
    environment: String,
    description: String,
    userdata: Object,
}

impl ScheduleRequest {
    /// Checks the request, and separates its secrets: the sensitive parameters of the task's
    /// metadata, and `secret`.
    async fn draft(
        self,
        api: &SharedApiContext,
        caller: &ApiCaller,
        timetable: schedules::Timetable,
        secret: Vec<String>,
    ) -> Result<ScheduleDraft, ApiFailure> {
        let input = ScheduledInput::read(
            self.kind,
            self.input.clone(),
            &self.environment,
            &self.description,
            &self.userdata,
        )?;
        let sensitive = Box::pin(check(api, caller, input)).await?;
        let mut input = self.input;
        let name = match input.remove("name") {
            Some(Value::String(name)) => name,
            _ => String::new(),
        };
        let mut secrets = Object::new();
        if let Some(Value::Object(parameters)) = input.get_mut("parameters") {
            for name in sensitive.into_iter().chain(secret) {
                if let Some(Value::Object(mut parameter)) = parameters.remove(&name) {
                    let value = parameter.remove("value").unwrap_or_default();
                    secrets.insert(name, value);
                }
            }
        }
        Ok(ScheduleDraft {
            name,
            environment: self.environment,
            description: self.description,
            userdata: self.userdata,
            input,
            secrets,
            timetable,
        })
    }
}

/// The `input` as it was posted, including name and secrets.
pub(super) fn join_input(
    kind: ScheduledJobKind,
    name: &str,
    input: &Object,
    secrets: &Object,
) -> Object {
    let mut whole = input.clone();
    if kind == ScheduledJobKind::Deploy {
        return whole;
    }
    whole.insert("name".to_owned(), json!(name));
    let parameters = whole.entry("parameters").or_insert_with(|| json!({}));
    if let Value::Object(parameters) = parameters {
        for (name, value) in secrets {
            parameters.insert(name.clone(), json!({ "value": value }));
        }
    }
    whole
}

pub(super) fn schedule_reply(id: String, number: i64) -> ScheduledJobReply {
    ScheduledJobReply {
        scheduled_job: ScheduledJobRef {
            id,
            name: number.to_string(),
        },
    }
}

fn engine_kind(kind: ScheduledType) -> ScheduledJobKind {
    match kind {
        ScheduledType::Task => ScheduledJobKind::Task,
        ScheduledType::Deploy => ScheduledJobKind::Deploy,
        ScheduledType::Plan => ScheduledJobKind::Plan,
    }
}
