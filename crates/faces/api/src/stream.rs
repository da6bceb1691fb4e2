//! `GET events/stream`: events as they are committed and, for one job, output as it is written.
//!
//! An event has its number as `id:`, its type as `event:` and the object of `jobs/:id/events` as
//! data; `Last-Event-ID` resumes after it. The stream of one job adds the result to the event that
//! ends a node (`details.result`), so that a watcher need not request each. Output is the event
//! `output`, without an id: it is not stored, so a client that reconnects gets it from the result.
//! Invariants: nothing is read before the client has made room for it, so a slow client slows down
//! the agents and fills no memory here; and no caller sees more than is currently permitted, so a
//! stream ends soon after its token.

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

use crate::Shared;
use crate::budget::{BudgetShare, Exhausted};
use crate::defaults::{EVENTS, STREAM_KEEP_ALIVE, STREAM_POLL, STREAM_RECHECK};
use crate::events::event;
use crate::failure::Failure;
use crate::guard::{Caller, RequestCredentials};
use crate::jobs::existing;
use crate::request_parameters::QueryParameters;
use error_causes::chain;

type Messages = Pin<Box<dyn Stream<Item = Result<Message, Infallible>> + Send>>;

pub(crate) async fn stream(
    State(api): State<Shared>,
    caller: Caller,
    pass: RequestCredentials,
    QueryParameters(given): QueryParameters,
    headers: HeaderMap,
) -> Result<Sse<KeepAliveStream<Messages>>, Failure> {
    let query = StreamQuery::read(given)?;
    let start = query
        .start
        .map(|start| i64::try_from(start).unwrap_or(i64::MAX));
    let from = resumption(&headers)?.or(start);
    let slot = api
        .streams
        .one(&pass.client_name(Some(&caller)))
        .map_err(full)?;
    let messages: Messages = match query.job {
        Some(number) => {
            let job = existing(&api, &number.to_string()).await?.number;
            let live = api.jobs.subscribe_live_from(job, from.unwrap_or(0)).await;
            Box::pin(of_job(api.clone(), live, slot))
        }
        None => {
            let from = match from {
                Some(from) => from,
                None => api.store.last_event_id().await? + 1,
            };
            Box::pin(of_all(api.clone(), from, slot))
        }
    };
    let messages: Messages = Box::pin(messages.take_until(over(api, pass)));
    let keep_alive = KeepAlive::new().interval(STREAM_KEEP_ALIVE);
    Ok(Sse::new(messages).keep_alive(keep_alive))
}

/// Ends when the caller may no longer see the stream, or when the server shuts down, which open
/// streams would prevent.
async fn over(api: Shared, pass: RequestCredentials) {
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

fn full(exhausted: Exhausted) -> ApiError {
    let msg = match exhausted {
        Exhausted::Own => {
            "you have as many event streams open as one may have; close one, or \
                           poll jobs/:id/events"
        }
        Exhausted::All => {
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

fn of_job(
    api: Shared,
    live: LiveSubscription,
    slot: BudgetShare,
) -> impl Stream<Item = Result<Message, Infallible>> + Send {
    stream::unfold(Some((live, slot)), move |state| {
        let api = api.clone();
        next_of_job(api, state)
    })
}

type OfJob = Option<(LiveSubscription, BudgetShare)>;

async fn next_of_job(api: Shared, state: OfJob) -> Option<(Result<Message, Infallible>, OfJob)> {
    let (mut live, slot) = state?;
    match live.next().await {
        Ok(Some(LiveEvent::Event(row))) => {
            let goes_on = !ends_job(&row.kind);
            let message = with_result(&api, row).await;
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
            broken(&error);
            None
        }
    }
}

struct EventLog {
    api: Shared,
    next: i64,
    read: std::vec::IntoIter<EventRow>,
    _slot: BudgetShare,
}

fn of_all(
    api: Shared,
    next: i64,
    slot: BudgetShare,
) -> impl Stream<Item = Result<Message, Infallible>> + Send {
    let log = EventLog {
        api,
        next,
        read: Vec::new().into_iter(),
        _slot: slot,
    };
    stream::unfold(log, |mut log| async {
        match log.next().await {
            Ok(row) => Some((Ok(committed(row)), log)),
            Err(error) => {
                broken(&error);
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

fn committed(row: EventRow) -> Message {
    committed_with(row, None)
}

/// Adds the result to an event that ends a node. Without a result (the store could not be read just
/// now), the event is still sent: the result is in `jobs/:id/nodes`.
async fn with_result(api: &Shared, row: EventRow) -> Message {
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
    committed_with(row, result.as_deref())
}

fn committed_with(row: EventRow, result: Option<&str>) -> Message {
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

/// The client sees the stream end without the job's end, and reconnects.
fn broken(error: &StoreError) {
    tracing::error!(error = %chain(error), "cannot go on with an event stream");
}
