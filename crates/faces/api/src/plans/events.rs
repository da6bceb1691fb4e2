//! `GET plan_jobs/:id/events` and `GET plan_jobs/:id/event/:eid`.
//!
//! Invariant: a message of a plan is truncated in the list and complete in the single event; the
//! result of a plan is stored once, with the plan job, and shown in its last event.

use api_types::{
    ApiError, EventsQuery, NextEvents, Object, PlanEvent, PlanEvents, Timestamp, kinds,
};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use store::{PlanEventRow, PlanJobRow};

use super::jobs::{find_plan_job, parse_json};
use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::defaults::{EVENTS, OUT_MESSAGE_BYTES};
use crate::failure::ApiFailure;
use crate::jobs::object;
use crate::request_parameters::{PathVariables, QueryParameters, job_number};

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    PathVariables(plan_job): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<PlanEvents>, ApiFailure> {
    let start = EventsQuery::read(given)?.start;
    let start = i64::try_from(start).unwrap_or(i64::MAX);
    let job = find_plan_job(&api, &plan_job).await?;
    let rows = api.store.plan_events(job.number, start, EVENTS).await?;
    let next = rows.last().map_or(start, |row| row.id.saturating_add(1));
    let number = job.number;
    let cut_event = |row| {
        let mut event = event(&job, row);
        if event.kind == "out_message" {
            truncate_message(&mut event.details);
        }
        event
    };
    Ok(Json(PlanEvents {
        next_events: NextEvents {
            id: base.orchestrator_url(&format!("plan_jobs/{number}/events?start={next}")),
            event: next.to_string(),
        },
        items: rows.into_iter().map(cut_event).collect(),
    }))
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    PathVariables((plan_job, id)): PathVariables<(String, String)>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<PlanEvent>, ApiFailure> {
    given.finish()?;
    let id = job_number("event", &id)?.get();
    let job = find_plan_job(&api, &plan_job).await?;
    let row = api.store.plan_event(id).await?;
    let row = row.filter(|row| row.plan_job == job.number);
    let row = row.ok_or_else(|| mismatched_event_error(job.number, id))?;
    Ok(Json(event(&job, row)))
}

fn mismatched_event_error(plan_job: i64, id: i64) -> ApiError {
    let msg = format!("plan job {plan_job} has no event {id}");
    ApiError::new(kinds::MISMATCHED_EVENT, msg)
        .with("plan_job", json!(plan_job.to_string()))
        .with("event", json!(id.to_string()))
}

fn event(job: &PlanJobRow, row: PlanEventRow) -> PlanEvent {
    let mut details = object(&row.details);
    if matches!(&*row.kind, "plan_finished" | "plan_failed") {
        let result = parse_json(job.number, job.result.as_deref());
        details.insert("result".to_owned(), result);
    }
    PlanEvent {
        id: row.id.to_string(),
        kind: row.kind,
        timestamp: Timestamp::from_ms(row.at_ms),
        details,
        message: row.message,
    }
}

fn truncate_message(details: &mut Object) {
    if let Some(Value::String(text)) = details.get_mut("message") {
        let end = text.floor_char_boundary(OUT_MESSAGE_BYTES);
        text.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        let mut details = object(&json!({"message": "ü".repeat(600)}).to_string());
        truncate_message(&mut details);
        assert_eq!(details["message"], "ü".repeat(512));
        let mut details = object(&json!({"message": format!("a{}", "ü".repeat(600))}).to_string());
        truncate_message(&mut details);
        assert_eq!(details["message"], format!("a{}", "ü".repeat(511)));
    }
}
