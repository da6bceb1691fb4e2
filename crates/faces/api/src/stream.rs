//! `GET events/stream`: events as they are committed and, for one job, output as it is written.
//!
//! An event has its number as `id:`, its type as `event:` and the object of `jobs/:id/events` as
//! data; `Last-Event-ID` resumes after it. The stream of one job adds the result to the event that
//! ends a node (`details.result`), so that a watcher need not request each. Output is the event
//! `output`, without an id: it is not stored, so a client that reconnects gets it from the result.
//! Invariants: nothing is read before the client has read the previous data, so a slow client slows
//! down the agents and fills no memory here; and a caller only sees what is currently permitted, so
//! a stream ends soon after its token.

use std::convert::Infallible;
use std::pin::Pin;

use api_types::{ApiError, LiveOutput, StreamQuery, events::ends_job, kinds};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Sse;
use axum::response::sse::{Event as Message, KeepAlive, KeepAliveStream};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream::{self, Stream, StreamExt as _};
use jobs::{LiveEvent, LiveSubscription};
use serde_json::json;
use store::{EventRow, StoreError};

use crate::SharedApiContext;
use crate::budget::{BudgetExhausted, BudgetReservation};
use crate::caller::ApiCaller;
use crate::credentials::RequestCredentials;
use crate::defaults::{EVENTS, STREAM_KEEP_ALIVE, STREAM_POLL, STREAM_RECHECK};
use crate::events::event;
use crate::failure::ApiFailure;
use crate::jobs::find_job;
use crate::request_parameters::QueryParameters;
use error_causes::chain;

type EventMessages = Pin<Box<dyn Stream<Item = Result<Message, Infallible>> + Send>>;

pub(crate) async fn stream(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    pass: RequestCredentials,
    QueryParameters(given): QueryParameters,
    headers: HeaderMap,
) -> Result<Sse<KeepAliveStream<EventMessages>>, ApiFailure> {
    let query = StreamQuery::read(given)?;
    let start = query
        .start
        .map(|start| i64::try_from(start).unwrap_or(i64::MAX));
    let from = resumption(&headers)?.or(start);
    let slot = api
        .streams
        .reserve_one(&pass.client_name(Some(&caller)))
        .map_err(too_many_streams_error)?;
    let messages: EventMessages = match query.job {
        Some(number) => {
            let job = find_job(&api, &number.to_string()).await?.number;
            let live = api.jobs.subscribe_live(job, from.unwrap_or(0)).await;
            Box::pin(job_events(api.clone(), live, slot))
        }
        None => {
            let from = match from {
                Some(from) => from,
                None => api.store.last_event_id().await? + 1,
            };
            Box::pin(all_events(api.clone(), from, slot))
        }
    };
    let messages: EventMessages = Box::pin(messages.take_until(wait_for_end(api, pass)));
    let keep_alive = KeepAlive::new().interval(STREAM_KEEP_ALIVE);
    Ok(Sse::new(messages).keep_alive(keep_alive))
}

/// Ends when the caller may no longer see the stream, or when the server shuts down: open streams
/// would otherwise prevent the shutdown.
async fn wait_for_end(api: SharedApiContext, pass: RequestCredentials) {
    let stopping = api.info.stopping.clone();
    let refused = async {
        loop {
            tokio::time::sleep(STREAM_RECHECK).await;
            if pass.check(&api).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = stopping.cancelled() => {}
        () = refused => {}
    }
}

fn too_many_streams_error(exhausted: BudgetExhausted) -> ApiError {
    let msg = match exhausted {
        BudgetExhausted::ClientLimit => {
            "you have as many event streams open as one may have; close one, or \
                           poll jobs/:id/events"
        }
        BudgetExhausted::TotalLimit => {
            "as many event streams are open as the server allows; close one, or \
                           poll jobs/:id/events"
        }
    };
    ApiError::new(kinds::UNAVAILABLE, msg)
}

/// The first event that a reconnecting client has not seen.
fn resumption(headers: &HeaderMap) -> Result<Option<i64>, ApiError> {
    let Some(id) = headers.get("last-event-id") else {
        return Ok(None);
    };
    let number = id
        .to_str()
        .ok()
        .filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    let number = number.and_then(|text| text.parse::<i64>().ok());
    let number = number.ok_or_else(|| {
        ApiError::invalid("Last-Event-ID", "this header is not the number of an event")
    })?;
    Ok(Some(number.saturating_add(1)))
}

fn job_events(
    api: SharedApiContext,
    live: LiveSubscription,
    slot: BudgetReservation,
) -> impl Stream<Item = Result<Message, Infallible>> + Send {
    stream::unfold(Some((live, slot)), move |state| {
        let api = api.clone();
        next_of_job(api, state)
    })
}

type JobStreamState = Option<(LiveSubscription, BudgetReservation)>;

async fn next_of_job(
    api: SharedApiContext,
    state: JobStreamState,
) -> Option<(Result<Message, Infallible>, JobStreamState)> {
    let (mut live, slot) = state?;
    match live.next().await {
        Ok(Some(LiveEvent::Event(row))) => {
            let goes_on = !ends_job(&row.kind);
            let message = message_with_result(&api, row).await;
            Some((Ok(message), goes_on.then_some((live, slot))))
        }
        Ok(Some(LiveEvent::Output {
            certname,
            stream,
            offset,
            bytes,
        })) => {
            let node = certname.to_string();
            let output = output(node, stream.as_str(), offset, &bytes);
            Some((Ok(message("output", &output)), Some((live, slot))))
        }
        Ok(Some(LiveEvent::Lagged(dropped))) => {
            let lagged = message("lagged", &json!({ "dropped": dropped }));
            Some((Ok(lagged), Some((live, slot))))
        }
        Ok(None) => None,
        Err(error) => {
            log_broken_stream(&error);
            None
        }
    }
}

struct EventLog {
    api: SharedApiContext,
    next: i64,
    read: std::vec::IntoIter<EventRow>,
    _slot: BudgetReservation,
}

fn all_events(
    api: SharedApiContext,
    next: i64,
    slot: BudgetReservation,
) -> impl Stream<Item = Result<Message, Infallible>> + Send {
    let log = EventLog {
        api,
        next,
        read: Vec::new().into_iter(),
        _slot: slot,
    };
    stream::unfold(log, |mut log| async {
        match log.next().await {
            Ok(row) => Some((Ok(committed_message(row)), log)),
            Err(error) => {
                log_broken_stream(&error);
                None
            }
        }
    })
}

impl EventLog {
    /// Waits for the next event.
    async fn next(&mut self) -> Result<EventRow, StoreError> {
        loop {
            if let Some(row) = self.read.next() {
                self.next = row.id + 1;
                return Ok(row);
            }
            self.read = self
                .api
                .store
                .all_events(self.next, EVENTS)
                .await?
                .into_iter();
            if self.read.len() == 0 {
                tokio::time::sleep(STREAM_POLL).await;
            }
        }
    }
}

fn committed_message(row: EventRow) -> Message {
    build_message(row, None)
}

/// Adds the result to an event that ends a node. If the result cannot be read from the store at the
/// moment, the event is sent without it: the result is in `jobs/:id/nodes`.
async fn message_with_result(api: &SharedApiContext, row: EventRow) -> Message {
    let ends_node = matches!(
        row.kind.as_str(),
        "node_finished" | "node_failed" | "node_errored"
    );
    let result = match &row.certname {
        Some(certname) if ends_node => match api.store.run(row.job, certname).await {
            Ok(run) => run.and_then(|run| run.result),
            Err(error) => {
                tracing::warn!(error = %chain(&error), "an event goes out without its result");
                None
            }
        },
        _ => None,
    };
    build_message(row, result.as_deref())
}

fn build_message(row: EventRow, result: Option<&str>) -> Message {
    let (id, job) = (row.id, row.job);
    let mut event = event(row);
    let result = result.and_then(|result| serde_json::from_str(result).ok());
    if let Some(result) = result {
        event.details.insert("result".to_owned(), result);
    }
    let mut data = json!(event);
    data["job"] = json!(job.to_string());
    message(&event.kind, &data).id(id.to_string())
}

fn output(node: String, stream: &str, offset: u64, bytes: &[u8]) -> LiveOutput {
    let (data, data_base64) = match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(STANDARD.encode(bytes))),
    };
    LiveOutput {
        node,
        stream: stream.to_owned(),
        offset,
        data,
        data_base64,
    }
}

fn message(kind: &str, data: &impl serde::Serialize) -> Message {
    let data = serde_json::to_string(data).expect("plain data is JSON");
    Message::default().event(kind).data(data)
}

/// Logs an error that ends a stream. The client sees the end of the stream before the end of the
/// job, and reconnects.
fn log_broken_stream(error: &StoreError) {
    tracing::error!(error = %chain(error), "cannot go on with an event stream");
}
