//! The nodes of a job: `GET jobs/:id/nodes` and `GET jobs/:id/report`.
//!
//! Invariant: however many nodes and however large their results, only some results at a time are
//! in memory; the list is streamed. If the store fails in the middle, the connection is closed, so
//! that half a list is not valid JSON.

use std::collections::VecDeque;

use api_types::{
    JobNode, JobNodes, NodesOrder, NodesQuery, Object, Order, Report, ReportItem, Timestamp,
};
use axum::BoxError;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use fabric::Fabric;
use futures_util::stream;
use serde_json::Value;
use store::{JobNumber, ListPage, RunFilter, RunListOrder, RunRow, Store};
use store::{defaults::RUNS_TOGETHER, now_ms};

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::events::next_events;
use crate::failure::ApiFailure;
use crate::jobs::{find_job, seconds};
use crate::request_parameters::{PathVariables, QueryParameters, store_page};

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    PathVariables(job): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Response, ApiFailure> {
    let query = NodesQuery::read(given)?;
    let job = find_job(&api, &job).await?;
    // Read before the nodes: a change in between is then also in the events, perhaps twice.
    let next = api.store.last_event_id().await? + 1;
    let page = store_page(query.page);
    let store = &api.store;
    let names = store.run_names(job.number, &filter(&query), page).await?;
    let empty = JobNodes {
        next_events: next_events(&base, job.number, next),
        items: Vec::new(),
    };
    let frame = serde_json::to_string(&empty)
        .map_err(|error| ApiFailure::internal("write the nodes", &error))?;
    let parts = NodeListStream {
        store: store.clone(),
        fabric: api.fabric.clone(),
        job: job.number,
        puppet: job.kind == PUPPET_RUNS,
        begin: Some(frame.strip_suffix(END).unwrap_or(&frame).to_owned()),
        names: VecDeque::from(names),
        first: true,
        is_complete: false,
    };
    let body = Body::from_stream(stream::try_unfold(parts, NodeListStream::next));
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// The type of jobs that run Puppet.
const PUPPET_RUNS: &str = "deploy";

/// The state of runs in flight.
const RUNNING: &str = "running";

/// The text after the last item.
const END: &str = "]}";

/// A streamed list of nodes.
struct NodeListStream {
    store: Store,
    fabric: Fabric,
    job: JobNumber,
    /// True if the job runs Puppet.
    puppet: bool,
    /// The text before the first item; `None` after it was sent.
    begin: Option<String>,
    names: VecDeque<String>,
    /// True until the first item is sent.
    first: bool,
    is_complete: bool,
}

impl NodeListStream {
    /// The next chunk of the text.
    async fn next(mut self) -> Result<Option<(String, Self)>, BoxError> {
        if self.is_complete {
            return Ok(None);
        }
        let mut text = self.begin.take().unwrap_or_default();
        let count = self.names.len().min(RUNS_TOGETHER);
        let names: Vec<String> = self.names.drain(..count).collect();
        let rows = self.store.runs_named(self.job, &names).await;
        let rows = rows.inspect_err(|error| {
            tracing::error!(%error, "cannot read more of a job's nodes; the answer is cut off");
        })?;
        let now_ms = now_ms();
        let puppet_now_ms = self.puppet.then_some(now_ms);
        for mut item in rows.into_iter().map(|row| node(row, puppet_now_ms)) {
            add_absence(&mut item, &self.fabric);
            if !std::mem::take(&mut self.first) {
                text.push(',');
            }
            text.push_str(&serde_json::to_string(&item)?);
        }
        if self.names.is_empty() {
            text.push_str(END);
            self.is_complete = true;
        }
        Ok(Some((text, self)))
    }
}

pub(crate) async fn report(
    State(api): State<SharedApiContext>,
    PathVariables(job): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<Report>, ApiFailure> {
    given.finish()?;
    let job = find_job(&api, &job).await?;
    let (filter, all) = (RunFilter::default(), ListPage::default());
    let names = api.store.run_names(job.number, &filter, all).await?;
    let mut items = Vec::with_capacity(names.len());
    for names in names.chunks(RUNS_TOGETHER) {
        let rows = api.store.runs_named(job.number, names).await?;
        items.extend(rows.iter().map(|row| report_item(row, job.created_ms)));
    }
    Ok(Json(Report { items }))
}

fn filter(query: &NodesQuery) -> RunFilter {
    RunFilter {
        state: query.state.map(str::to_owned),
        order_by: match query.order_by {
            NodesOrder::Name => RunListOrder::Certname,
            NodesOrder::Duration => RunListOrder::Duration,
            NodesOrder::State => RunListOrder::State,
            NodesOrder::StartTimestamp => RunListOrder::Started,
            NodesOrder::FinishTimestamp => RunListOrder::Finished,
        },
        descending: query.order == Order::Desc,
    }
}

/// Marks a running item whose node is not connected.
fn add_absence(item: &mut JobNode, fabric: &Fabric) {
    if item.state != RUNNING || item.transport != "pcp" {
        return;
    }
    let Ok(certname) = item.name.parse() else {
        return;
    };
    if fabric.presence(&certname).is_some() {
        return;
    }
    let message = match fabric.disconnected_since(&certname) {
        Some(since) => format!("not connected since {since:.0}"),
        None => "not connected since before the server's start".to_owned(),
    };
    item.details
        .insert("message".to_owned(), Value::from(message));
}

/// An item of the list. `puppet_now_ms` is the current time, for a job that runs Puppet.
fn node(row: RunRow, puppet_now_ms: Option<i64>) -> JobNode {
    let ended = row.started_ms.zip(row.finished_ms);
    let kept = details(row.details.as_deref());
    let runs_since = row.started_ms.filter(|_| row.finished_ms.is_none());
    let run_time = runs_since.zip(puppet_now_ms);
    let run_time = run_time.map(|(since, now)| seconds(since, now));
    JobNode {
        name: row.certname,
        state: row.state,
        batch: row.batch.map(u64::from),
        transport: transport(&kept),
        start_timestamp: row.started_ms.map(Timestamp::from_ms),
        finish_timestamp: row.finished_ms.map(Timestamp::from_ms),
        duration: row
            .duration_ms
            .map(|took| seconds(0, took))
            .or_else(|| ended.map(|(start, end)| seconds(start, end))),
        timestamp: row.finished_ms.or(row.started_ms).map(Timestamp::from_ms),
        transaction_uuid: transaction_uuid(&kept),
        latest_event_id: row.latest_event_id,
        details: details_for_client(kept, run_time),
        result: row
            .result
            .map(|json| serde_json::from_str(&json).unwrap_or(Value::String(json))),
    }
}

/// Details of a run that clients get: the reason for which it was not run, the location of a Puppet
/// run's report, and standard error (which Puppet Enterprise does not show). The engine stores
/// internal details beside them.
const DETAILS_TOLD: [&str; 4] = ["message", "report-url", "stderr", "stderr_bytes"];

fn details(json: Option<&str>) -> Object {
    json.and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default()
}

/// The transport of the run.
fn transport(kept: &Object) -> String {
    let told = kept.get("transport").and_then(Value::as_str);
    told.unwrap_or("pcp").to_owned()
}

/// The transaction UUID of a Puppet run, if its agent has sent it.
fn transaction_uuid(kept: &Object) -> Option<String> {
    kept.get("transaction_uuid")?.as_str().map(str::to_owned)
}

/// Details for clients. `run_time`: seconds since Puppet started.
fn details_for_client(kept: Object, run_time: Option<f64>) -> Object {
    let run_time = run_time.map(|seconds| ("run-time".to_owned(), Value::from(seconds)));
    kept.into_iter()
        .filter(|(key, _)| DETAILS_TOLD.contains(&key.as_str()))
        .chain(run_time)
        .collect()
}

fn report_item(row: &RunRow, created_ms: i64) -> ReportItem {
    ReportItem {
        node: row.certname.clone(),
        state: row.state.clone(),
        timestamp: Some(Timestamp::from_ms(
            row.finished_ms.or(row.started_ms).unwrap_or(created_ms),
        )),
        start_timestamp: row.started_ms.map(Timestamp::from_ms),
        finish_timestamp: row.finished_ms.map(Timestamp::from_ms),
        events: Vec::new(),
    }
}
