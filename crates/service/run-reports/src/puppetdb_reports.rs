//! Reports that only PuppetDB has: those of agents that report to a puppetserver.
//!
//! Main functions: [`list`], [`find`]. Invariant: what PuppetDB returns is bounded like the reports that
//! agents send here.

use inventory::{Inventory, NodeQuery, PuppetReport, ReportMetric};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use store::{ListPage, RunReportFilter};

use crate::defaults::{
    CATEGORY_METRICS, METRIC_CATEGORIES, REPORT_LOG_BYTES, REPORT_RESOURCE_BYTES,
};
use crate::engine::{RunReportEntry, StoredRunReport};
use crate::error::FindReportError;
use crate::report::{ReportedEvent, ReportedResource, RunLogEntry, RunReportDetail};
use crate::selection::{select_logs, select_resources};
use crate::text::{clean_message, clean_name};

/// A report as PuppetDB returns it, with the parts that are in a document of their own.
#[derive(Deserialize)]
struct PuppetDbReport {
    certname: String,
    #[serde(default)]
    report_format: Option<i64>,
    #[serde(default)]
    metrics: PartData<ReportMetric>,
    #[serde(default)]
    logs: PartData<PuppetDbLog>,
    #[serde(default)]
    resource_events: PartData<PuppetDbEvent>,
}

/// A part of a report; `data` is null if it has none.
#[derive(Deserialize)]
struct PartData<T> {
    #[serde(default = "none")]
    data: Option<Vec<T>>,
}

#[derive(Deserialize)]
struct PuppetDbLog {
    #[serde(default)]
    level: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    time: Option<Timestamp>,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    line: Option<i64>,
}

#[derive(Deserialize)]
struct PuppetDbEvent {
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    property: Option<String>,
    #[serde(default)]
    old_value: Value,
    #[serde(default)]
    new_value: Value,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    timestamp: Option<Timestamp>,
    #[serde(default)]
    corrective_change: Option<bool>,
    #[serde(default)]
    resource_type: Option<String>,
    #[serde(default)]
    resource_title: Option<String>,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    line: Option<i64>,
    #[serde(default)]
    containment_path: Option<Vec<String>>,
}

/// Reports that the filter selects, newest first.
pub(crate) async fn list(
    inventory: &Inventory,
    filter: &RunReportFilter,
    page: ListPage,
) -> Result<Vec<RunReportEntry>, FindReportError> {
    let filters = [
        ("certname", &filter.certname),
        ("status", &filter.status),
        ("job_id", &filter.job_id),
    ];
    let mut selected = vec![json!("and")];
    for (column, value) in filters {
        selected.extend(value.as_ref().map(|value| json!(["=", column, value])));
    }
    let columns = PuppetReport::COLUMNS
        .into_iter()
        .chain(["certname", "report_format"]);
    let mut extract = vec![json!("extract"), json!(columns.collect::<Vec<_>>())];
    if selected.len() > 1 {
        extract.push(Value::Array(selected));
    }
    let mut query = vec![
        json!("from"),
        json!("reports"),
        Value::Array(extract),
        json!(["order_by", [["receive_time", "desc"], ["hash", "asc"]]]),
        json!(["offset", page.offset]),
    ];
    query.extend(page.limit.map(|limit| json!(["limit", limit])));
    let rows = rows(inventory, Value::Array(query)).await?;
    rows.into_iter().map(entry).collect()
}

/// The report whose id begins with these hexadecimal digits.
pub(crate) async fn find(
    inventory: &Inventory,
    id: &str,
) -> Result<StoredRunReport, FindReportError> {
    let query = json!([
        "from",
        "reports",
        ["~", "hash", format!("^{id}")],
        ["limit", 2]
    ]);
    let mut rows = rows(inventory, query).await?.into_iter();
    match (rows.next(), rows.next()) {
        (Some(row), None) => document(row),
        (Some(_), Some(_)) => Err(FindReportError::Ambiguous(id.to_owned())),
        (None, _) => Err(FindReportError::Unknown(id.to_owned())),
    }
}

async fn rows(inventory: &Inventory, query: Value) -> Result<Vec<Value>, FindReportError> {
    let query = NodeQuery::from_ast(query);
    inventory
        .query(&query)
        .await
        .map_err(FindReportError::PuppetDb)
}

fn entry(row: Value) -> Result<RunReportEntry, FindReportError> {
    let damaged = |error: serde_json::Error| {
        FindReportError::Damaged(format!("a report from PuppetDB: {error}"))
    };
    let certname = row["certname"].as_str().unwrap_or_default().to_owned();
    let mut summary: PuppetReport = serde_json::from_value(row).map_err(damaged)?;
    summary.metrics = Vec::new();
    Ok(RunReportEntry {
        certname,
        received: summary.receive_time.unwrap_or_default(),
        job_id: summary.job_id.clone(),
        summary,
    })
}

fn document(row: Value) -> Result<StoredRunReport, FindReportError> {
    let damaged = |error: serde_json::Error| {
        FindReportError::Damaged(format!("a report from PuppetDB: {error}"))
    };
    let parts: PuppetDbReport = serde_json::from_value(row.clone()).map_err(damaged)?;
    let mut entry = entry(row)?;
    entry.certname = parts.certname;
    let mut notes = Vec::new();
    let logs = parts.logs.data.unwrap_or_default().into_iter().map(log);
    let mut logs: Vec<RunLogEntry> = logs.collect();
    let left_out = select_logs(&mut logs, REPORT_LOG_BYTES);
    if left_out > 0 {
        notes.push(format!("{left_out} log messages were left out"));
    }
    let mut resources = resources(parts.resource_events.data.unwrap_or_default());
    let left_out = select_resources(&mut resources, REPORT_RESOURCE_BYTES);
    if left_out > 0 {
        notes.push(format!("{left_out} resources were left out"));
    }
    let mut metrics = parts.metrics.data.unwrap_or_default();
    metrics.truncate(METRIC_CATEGORIES * CATEGORY_METRICS);
    Ok(StoredRunReport {
        entry,
        detail: RunReportDetail {
            report_format: parts.report_format,
            server_used: None,
            metrics,
            logs,
            resources,
            notes,
        },
    })
}

fn log(log: PuppetDbLog) -> RunLogEntry {
    RunLogEntry {
        level: clean_name(log.level.unwrap_or_default()),
        message: clean_message(log.message.unwrap_or_default()),
        source: clean_name(log.source.unwrap_or_default()),
        tags: Vec::new(),
        time: log.time,
        file: log.file.map(clean_name),
        line: log.line,
    }
}

/// The resources of the events, in the order of their first event.
fn resources(events: Vec<PuppetDbEvent>) -> Vec<ReportedResource> {
    let mut resources: Vec<ReportedResource> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for event in events {
        let kind = clean_name(event.resource_type.unwrap_or_default());
        let title = clean_name(event.resource_title.unwrap_or_default());
        let next = resources.len();
        let place = *places.entry((kind.clone(), title.clone())).or_insert(next);
        if place == next {
            resources.push(ReportedResource {
                resource_type: kind,
                title,
                file: event.file.map(clean_name),
                line: event.line,
                containment_path: event.containment_path.unwrap_or_default(),
                time: event.timestamp,
                ..ReportedResource::default()
            });
        }
        let Some(resource) = resources.get_mut(place) else {
            continue;
        };
        let status = event.status.unwrap_or_default();
        resource.changed |= status == "success";
        resource.failed |= status == "failure";
        resource.skipped |= status == "skipped";
        resource.out_of_sync |= status == "noop";
        resource.corrective_change |= event.corrective_change == Some(true);
        if status != "skipped" {
            resource.events.push(ReportedEvent {
                status: clean_name(status),
                name: event.name.map(clean_name),
                property: event.property.map(clean_name),
                previous_value: to_text(event.old_value),
                desired_value: to_text(event.new_value),
                message: event.message.map(clean_message),
                time: event.timestamp,
                corrective_change: event.corrective_change,
            });
        }
    }
    resources
}

fn to_text(value: Value) -> String {
    clean_message(match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    })
}

// === impl PartData ===

impl<T> Default for PartData<T> {
    fn default() -> Self {
        Self { data: None }
    }
}

fn none<T>() -> Option<Vec<T>> {
    None
}
