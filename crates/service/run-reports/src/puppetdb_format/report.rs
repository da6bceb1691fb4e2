//! Reports in PuppetDB's format, version 8: [`report_payload`].

use inventory::ReportMetric;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{PayloadProducer, to_wire_time};
use crate::report::{ReportedEvent, ReportedResource, RunLogEntry, RunReport};

/// The environment of a report that names none.
const DEFAULT_ENVIRONMENT: &str = "production";

/// A report with its notable resources.
pub(crate) fn report_payload(report: &RunReport, producer: PayloadProducer<'_>) -> Value {
    let (summary, detail) = (&report.summary, &report.detail);
    let received = summary.receive_time.unwrap_or(producer.at);
    let start = summary.start_time.unwrap_or(received);
    let resources = detail.resources.iter();
    let metrics = detail.metrics.iter().filter_map(metric);
    let logs = detail.logs.iter().map(|entry| log(entry, start));
    json!({
        "certname": report.certname.as_str(),
        "environment": summary.environment.as_deref().unwrap_or(DEFAULT_ENVIRONMENT),
        "puppet_version": summary.puppet_version.as_deref().unwrap_or_default(),
        "report_format": detail.report_format.unwrap_or_default(),
        "configuration_version": summary.configuration_version.as_deref().unwrap_or_default(),
        "start_time": to_wire_time(start),
        "end_time": to_wire_time(summary.end_time.unwrap_or(start)),
        "producer_timestamp": to_wire_time(producer.at),
        "producer": producer.certname,
        "transaction_uuid": summary.transaction_uuid,
        "catalog_uuid": summary.catalog_uuid,
        "code_id": summary.code_id,
        "job_id": summary.job_id,
        "cached_catalog_status": summary.cached_catalog_status,
        "status": report.status.as_str(),
        "noop": summary.noop.unwrap_or(false),
        "noop_pending": summary.noop_pending,
        "corrective_change": summary.corrective_change,
        "metrics": metrics.collect::<Vec<_>>(),
        "logs": logs.collect::<Vec<_>>(),
        "resources": resources.filter_map(|it| resource(it, start)).collect::<Vec<_>>(),
    })
}

/// `None` for a resource without events that was not skipped, which PuppetDB does not want.
fn resource(resource: &ReportedResource, start: Timestamp) -> Option<Value> {
    if resource.events.is_empty() && !resource.skipped {
        return None;
    }
    let time = resource.time.unwrap_or(start);
    let events = resource.events.iter().map(|it| event(it, time));
    Some(json!({
        "timestamp": to_wire_time(time),
        "resource_type": resource.resource_type,
        "resource_title": resource.title,
        "skipped": resource.skipped,
        "events": events.collect::<Vec<_>>(),
        "file": resource.file,
        "line": resource.line,
        "containment_path": resource.containment_path,
        "corrective_change": resource.corrective_change,
    }))
}

fn event(event: &ReportedEvent, time: Timestamp) -> Value {
    json!({
        "status": event.status,
        "timestamp": to_wire_time(event.time.unwrap_or(time)),
        "name": event.name,
        "property": event.property,
        "new_value": event.desired_value,
        "old_value": event.previous_value,
        "corrective_change": event.corrective_change,
        "message": event.message,
    })
}

fn log(entry: &RunLogEntry, start: Timestamp) -> Value {
    json!({
        "file": entry.file,
        "line": entry.line,
        "level": entry.level,
        "message": entry.message,
        "source": entry.source,
        "tags": entry.tags,
        "time": to_wire_time(entry.time.unwrap_or(start)),
    })
}

fn metric(metric: &ReportMetric) -> Option<Value> {
    let value = metric.value.as_f64().filter(|value| value.is_finite())?;
    // Whole numbers stay whole, as Puppet sends them.
    let value = metric
        .value
        .as_i64()
        .map_or_else(|| json!(value), |whole| json!(whole));
    Some(json!({"category": metric.category, "name": metric.name, "value": value}))
}
