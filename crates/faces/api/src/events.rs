//! The events of a job: `GET jobs/:id/events`.

use api_types::{Event, Events, EventsQuery, NextEvents, Timestamp};
use axum::Json;
use axum::extract::State;
use store::{EventRow, JobNumber};

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::defaults::EVENTS;
use crate::failure::ApiFailure;
use crate::jobs::find_job;
use crate::request_parameters::{PathVariables, QueryParameters};

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    PathVariables(job): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<Events>, ApiFailure> {
    let start = EventsQuery::read(given)?.start;
    let start = i64::try_from(start).unwrap_or(i64::MAX);
    let job = find_job(&api, &job).await?;
    let rows = api.store.events(job.number, start, EVENTS).await?;
    // The first id that was not returned yet; a client that continues there gets only new events.
    let next = rows.last().map_or(start, |row| row.id.saturating_add(1));
    let items = rows.into_iter().map(event).collect();
    Ok(Json(Events {
        next_events: next_events(&base, job.number, next),
        items,
    }))
}

pub(crate) fn next_events(base: &BaseUrl, job: JobNumber, next: i64) -> NextEvents {
    NextEvents {
        id: base.orchestrator_url(&format!("jobs/{job}/events?start={next}")),
        event: next.to_string(),
    }
}

pub(crate) fn event(row: EventRow) -> Event {
    Event {
        id: row.id.to_string(),
        kind: row.kind,
        timestamp: Timestamp::from_ms(row.at_ms),
        details: serde_json::from_str(&row.details).unwrap_or_default(),
        message: row.message,
    }
}
