//! The nodes of a job: `GET jobs/:id/nodes` and `GET jobs/:id/report`.

use api_types::{
    JobNode, JobNodes, NodesOrder, NodesQuery, Object, Order, Report, ReportItem, Timestamp,
};
use axum::Json;
use axum::extract::State;
use serde_json::Value;
use store::{Page, RunFilter, RunOrder, RunRow};

use crate::Shared;
use crate::base::Base;
use crate::events::next_events;
use crate::failure::Failure;
use crate::given::{Given, Variables};
use crate::jobs::{existing, seconds};

pub(crate) async fn list(
    State(api): State<Shared>,
    base: Base,
    Variables(job): Variables<String>,
    Given(given): Given,
) -> Result<Json<JobNodes>, Failure> {
    let query = NodesQuery::read(given)?;
    let job = existing(&api, &job).await?;
    // Read before the nodes: a change in between is then told by the events, perhaps twice.
    let next = api.store.last_event_id().await? + 1;
    let page = Page {
        limit: query.page.limit,
        offset: query.page.offset,
    };
    let (rows, _) = api.store.runs(job.number, &filter(&query), page).await?;
    let items = rows.into_iter().map(node).collect();
    Ok(Json(JobNodes {
        next_events: next_events(&base, job.number, next),
        items,
    }))
}

pub(crate) async fn report(
    State(api): State<Shared>,
    Variables(job): Variables<String>,
    Given(given): Given,
) -> Result<Json<Report>, Failure> {
    given.finish()?;
    let job = existing(&api, &job).await?;
    let (rows, _) = api
        .store
        .runs(job.number, &RunFilter::default(), Page::default())
        .await?;
    let items = rows
        .iter()
        .map(|row| report_item(row, job.created_ms))
        .collect();
    Ok(Json(Report { items }))
}

fn filter(query: &NodesQuery) -> RunFilter {
    RunFilter {
        state: query.state.map(str::to_owned),
        order_by: match query.order_by {
            NodesOrder::Name => RunOrder::Certname,
            NodesOrder::Duration => RunOrder::Duration,
            NodesOrder::State => RunOrder::State,
            NodesOrder::StartTimestamp => RunOrder::Started,
            NodesOrder::FinishTimestamp => RunOrder::Finished,
        },
        descending: query.order == Order::Desc,
    }
}

fn node(row: RunRow) -> JobNode {
    let ended = row.started_ms.zip(row.finished_ms);
    JobNode {
        name: row.certname,
        state: row.state,
        transport: "pcp".to_owned(),
        start_timestamp: row.started_ms.map(Timestamp::from_ms),
        finish_timestamp: row.finished_ms.map(Timestamp::from_ms),
        duration: ended.map(|(start, end)| seconds(start, end)),
        timestamp: row.finished_ms.or(row.started_ms).map(Timestamp::from_ms),
        transaction_uuid: None,
        latest_event_id: row.latest_event_id,
        details: details(row.details.as_deref()),
        result: row
            .result
            .map(|json| serde_json::from_str(&json).unwrap_or(Value::String(json))),
    }
}

/// What clients are told of a run's details: why it was not run, or what it wrote to standard error
/// (which Puppet Enterprise does not show). The engine keeps notes of its own beside them.
const DETAILS_TOLD: [&str; 3] = ["message", "stderr", "stderr_bytes"];

fn details(json: Option<&str>) -> Object {
    let all: Object = json
        .and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default();
    all.into_iter()
        .filter(|(key, _)| DETAILS_TOLD.contains(&key.as_str()))
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
