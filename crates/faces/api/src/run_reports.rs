//! Reports of Puppet runs: `GET /tutti/v1/reports` and `GET /tutti/v1/reports/{report}`.

use api_types::{
    ApiError, PreciseTimestamp, RunReportDocument, RunReportEvent, RunReportItem, RunReportList,
    RunReportLog, RunReportMetric, RunReportResource, RunReportsQuery, kinds,
};
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use inventory::ReportMetric;
use run_reports::{
    FindReportError, ReportSource, ReportedEvent, ReportedResource, RunLogEntry, RunReportEntry,
    RunReportFilter, StoredRunReport,
};
use serde_json::{Value, json};
use store::ListPage;

use crate::SharedApiContext;
use crate::failure::ApiFailure;
use crate::large_reply::large_reply;
use crate::query;
use crate::request_parameters::{PathVariables, QueryParameters};

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<RunReportList>, ApiFailure> {
    let query = RunReportsQuery::read(given)?;
    let page = ListPage {
        limit: Some(query.limit),
        offset: query.offset,
    };
    let filter = RunReportFilter {
        certname: query.node,
        status: query.status.map(str::to_owned),
        job_id: query.job,
    };
    let listed = api.run_reports.list(&filter, page).await;
    let listed = listed.map_err(find_error)?;
    let source = match listed.source {
        ReportSource::Server => "server",
        ReportSource::PuppetDb => "puppetdb",
    };
    let items = listed.entries.into_iter().map(item).collect();
    Ok(Json(RunReportList {
        items,
        source: source.to_owned(),
    }))
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    PathVariables(id): PathVariables<String>,
) -> Result<Response, ApiFailure> {
    let report = api.run_reports.find(&id).await.map_err(find_error)?;
    large_reply(document(report)).await
}

/// The report as the JSON of `GET /tutti/v1/reports/{report}`, which report processors get.
pub fn run_report_json(report: StoredRunReport) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&document(report))
}

fn find_error(error: FindReportError) -> ApiFailure {
    let text = error.to_string();
    match error {
        FindReportError::InvalidId(_) => ApiError::invalid("report", text).into(),
        FindReportError::Unknown(id) => ApiError::new(kinds::UNKNOWN_REPORT, text)
            .with("report", json!(id))
            .into(),
        FindReportError::Ambiguous(id) => ApiError::new(kinds::AMBIGUOUS_REPORT, text)
            .with("report", json!(id))
            .into(),
        FindReportError::Store(error) => error.into(),
        FindReportError::PuppetDb(error) => query::failure(error),
        FindReportError::Damaged(_) => ApiFailure::internal("read a report of a run", &error),
    }
}

fn item(entry: RunReportEntry) -> RunReportItem {
    let summary = entry.summary;
    let time = |time: Option<jiff::Timestamp>| time.map(PreciseTimestamp);
    RunReportItem {
        id: summary.hash,
        node: entry.certname,
        status: summary.status.unwrap_or_default(),
        noop: summary.noop.unwrap_or(false),
        noop_pending: summary.noop_pending,
        corrective_change: summary.corrective_change,
        environment: summary.environment,
        start_time: time(summary.start_time),
        end_time: time(summary.end_time),
        receive_time: PreciseTimestamp(entry.received),
        transaction_uuid: summary.transaction_uuid,
        catalog_uuid: summary.catalog_uuid,
        code_id: summary.code_id,
        configuration_version: summary.configuration_version,
        cached_catalog_status: summary.cached_catalog_status,
        job: entry.job_id,
        puppet_version: summary.puppet_version,
    }
}

fn document(report: StoredRunReport) -> RunReportDocument {
    let detail = report.detail;
    RunReportDocument {
        item: item(report.entry),
        metrics: detail.metrics.into_iter().filter_map(metric).collect(),
        resources: detail.resources.into_iter().map(resource).collect(),
        logs: detail.logs.into_iter().map(log).collect(),
        notes: detail.notes,
    }
}

fn metric(metric: ReportMetric) -> Option<RunReportMetric> {
    let Value::Number(value) = metric.value else {
        return None;
    };
    Some(RunReportMetric {
        category: metric.category,
        name: metric.name,
        value,
    })
}

fn resource(resource: ReportedResource) -> RunReportResource {
    RunReportResource {
        status: resource_status(&resource).to_owned(),
        kind: resource.resource_type,
        title: resource.title,
        file: resource.file,
        line: resource.line,
        containment_path: resource.containment_path,
        evaluation_time: resource.evaluation_time,
        events: resource.events.into_iter().map(event).collect(),
    }
}

/// The most important state of a resource.
fn resource_status(resource: &ReportedResource) -> &'static str {
    let is_noop = resource.events.iter().any(|event| event.status == "noop");
    match resource {
        _ if resource.is_failed() => "failed",
        _ if resource.changed && resource.corrective_change => "corrective",
        _ if resource.changed => "changed",
        _ if is_noop => "noop",
        _ if resource.skipped => "skipped",
        _ if resource.out_of_sync => "out_of_sync",
        _ => "unchanged",
    }
}

fn event(event: ReportedEvent) -> RunReportEvent {
    RunReportEvent {
        status: event.status,
        property: event.property,
        previous_value: event.previous_value,
        desired_value: event.desired_value,
        message: event.message,
        time: event.time.map(PreciseTimestamp),
        corrective_change: event.corrective_change,
    }
}

fn log(entry: RunLogEntry) -> RunReportLog {
    RunReportLog {
        level: entry.level,
        message: entry.message,
        source: entry.source,
        time: entry.time.map(PreciseTimestamp),
        file: entry.file,
        line: entry.line,
    }
}
