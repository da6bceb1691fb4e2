//! Reads the report of an agent: [`RunReport::from_json`].
//!
//! Invariants: no report of another node is read; parts beyond the limits are left out and named in
//! [`RunReportDetail::notes`]; nothing depends on the node's clock, which may be wrong.

use std::time::Duration;

use inventory::{PuppetReport, ReportMetric};
use jiff::{SignedDuration, Timestamp};
use pcp::Certname;
use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::agent_report::{AgentEvent, AgentLog, AgentReport, AgentResource};
use crate::defaults::{
    CLOCK_AHEAD, CLOCK_BEHIND, MAX_REPORT_TEXT_BYTES, REPORT_LOG_BYTES, REPORT_RESOURCE_BYTES,
};
use crate::error::{InvalidReport, InvalidReportError};
use crate::report::{
    KEY_BYTES, ReportedEvent, ReportedResource, RunLogEntry, RunReport, RunReportDetail, RunStatus,
    report_id,
};
use crate::selection::{select_logs, select_resources};
use crate::text::{clean_message, clean_name, clean_text};

/// Longest run that counts as one, for its end; a longer duration is not believed.
const LONGEST_RUN: Duration = CLOCK_BEHIND;

// === impl RunReport ===

impl RunReport {
    /// Reads the report that the node with this certificate sent. It was received at `received`.
    pub fn from_json(
        certname: &Certname,
        text: &str,
        received: Timestamp,
    ) -> Result<Self, InvalidReportError> {
        if text.len() > MAX_REPORT_TEXT_BYTES {
            return Err(InvalidReportError::TooLarge {
                bytes: text.len(),
                limit: MAX_REPORT_TEXT_BYTES,
            });
        }
        let report: AgentReport = decode_errors::json::from_str(text)?;
        Ok(Self::from_agent(certname, report, received)?)
    }

    fn from_agent(
        certname: &Certname,
        report: AgentReport,
        received: Timestamp,
    ) -> Result<Self, InvalidReport> {
        let host = report.host.unwrap_or_default();
        if host != certname.as_str() {
            return Err(InvalidReport::OtherHost {
                host: clean_text(host, KEY_BYTES),
                certname: certname.to_string(),
            });
        }
        let uuid = report.transaction_uuid.unwrap_or_default();
        let Some(transaction_uuid) = to_uuid(&uuid) else {
            return Err(InvalidReport::TransactionUuid(clean_text(uuid, KEY_BYTES)));
        };
        let status = report.status.unwrap_or_default();
        let Ok(status) = status.parse::<RunStatus>() else {
            return Err(InvalidReport::Status(clean_text(status, KEY_BYTES)));
        };
        let time = report.time.unwrap_or_default();
        let Some(started) = to_timestamp(&time) else {
            return Err(InvalidReport::Time(clean_text(time, KEY_BYTES)));
        };
        let mut notes = Vec::new();
        let metrics = bounded_metrics(report.metrics.metrics);
        if report.metrics.is_cut {
            notes.push("some metrics were left out".to_owned());
        }
        let (start, end) = run_times(started, received, &metrics, &mut notes);
        let logs = logs(report.logs.left_out, report.logs.into_items(), &mut notes);
        let resources = resources(
            report.resource_statuses.left_out,
            report.resource_statuses.notable,
            &mut notes,
        );
        let key = |text: Option<String>| Some(clean_text(text?, KEY_BYTES));
        let summary = PuppetReport {
            hash: report_id(certname, &transaction_uuid),
            transaction_uuid,
            status: Some(status.to_string()),
            noop: Some(report.noop.unwrap_or(false)),
            noop_pending: report.noop_pending,
            corrective_change: report.corrective_change,
            environment: key(report.environment),
            configuration_version: key(report.configuration_version.map(to_text)),
            catalog_uuid: report.catalog_uuid.and_then(|uuid| to_uuid(&uuid)),
            code_id: key(report.code_id),
            cached_catalog_status: key(report.cached_catalog_status),
            job_id: key(report.job_id.map(to_text)).filter(|job| !job.is_empty()),
            puppet_version: key(report.puppet_version),
            start_time: Some(start),
            end_time: Some(end),
            receive_time: Some(received),
            metrics: Vec::new(),
        };
        let detail = RunReportDetail {
            report_format: report.report_format,
            server_used: key(report.server_used),
            metrics,
            logs,
            resources,
            notes,
        };
        Ok(Self {
            certname: certname.clone(),
            summary,
            status,
            detail,
        })
    }
}

/// Start and end of the run. Of an impossible start, the time of arrival counts.
fn run_times(
    started: Timestamp,
    received: Timestamp,
    metrics: &[ReportMetric],
    notes: &mut Vec<String>,
) -> (Timestamp, Timestamp) {
    let total = metrics
        .iter()
        .find(|metric| metric.category == "time" && metric.name == "total");
    let total = total
        .and_then(|metric| metric.value.as_f64())
        .unwrap_or(0.0);
    let took = SignedDuration::try_from_secs_f64(total.clamp(0.0, LONGEST_RUN.as_secs_f64()));
    let took = took.unwrap_or_default();
    let earliest = received.checked_sub(CLOCK_BEHIND);
    let latest = received.checked_add(CLOCK_AHEAD);
    let is_possible = earliest.is_ok_and(|earliest| started >= earliest)
        && latest.is_ok_and(|latest| started <= latest);
    if is_possible {
        return (started, started.checked_add(took).unwrap_or(started));
    }
    notes.push(format!(
        "the node says that the run began at {started:.0}, when the report arrived at {received:.0}; its \
         clock is wrong, and the time of arrival is used"
    ));
    (received.checked_sub(took).unwrap_or(received), received)
}

fn bounded_metrics(metrics: Vec<ReportMetric>) -> Vec<ReportMetric> {
    let bounded = |metric: ReportMetric| ReportMetric {
        category: clean_text(metric.category, KEY_BYTES),
        name: clean_text(metric.name, KEY_BYTES),
        value: metric.value,
    };
    metrics.into_iter().map(bounded).collect()
}

fn logs(
    left_out: usize,
    logs: impl Iterator<Item = AgentLog>,
    notes: &mut Vec<String>,
) -> Vec<RunLogEntry> {
    let mut logs: Vec<RunLogEntry> = logs.map(log_entry).collect();
    let left_out = left_out + select_logs(&mut logs, REPORT_LOG_BYTES);
    if left_out > 0 {
        notes.push(format!("{left_out} log messages were left out"));
    }
    logs
}

fn log_entry(log: AgentLog) -> RunLogEntry {
    RunLogEntry {
        level: clean_text(log.level.unwrap_or_default(), KEY_BYTES),
        message: clean_message(log.message.unwrap_or_default()),
        source: clean_name(log.source.unwrap_or_default()),
        tags: log.tags.into_items().map(clean_name).collect(),
        time: log.time.as_deref().and_then(to_timestamp),
        file: log.file.map(clean_name),
        line: log.line,
    }
}

fn resources(
    left_out: usize,
    resources: Vec<(String, AgentResource)>,
    notes: &mut Vec<String>,
) -> Vec<ReportedResource> {
    let resources = resources.into_iter();
    let resources = resources.map(|(reference, resource)| reported_resource(&reference, resource));
    let mut resources: Vec<ReportedResource> = resources.collect();
    let left_out = left_out + select_resources(&mut resources, REPORT_RESOURCE_BYTES);
    if left_out > 0 {
        notes.push(format!("{left_out} resources were left out"));
    }
    resources
}

fn reported_resource(reference: &str, resource: AgentResource) -> ReportedResource {
    let split = reference
        .split_once('[')
        .and_then(|(kind, title)| Some((kind, title.strip_suffix(']')?)));
    let (kind, title) = split.unwrap_or(("", reference));
    let is = |flag: Option<bool>| flag.unwrap_or(false);
    let path = resource.containment_path.into_items();
    let events = resource.events.into_items();
    ReportedResource {
        resource_type: clean_name(resource.resource_type.unwrap_or_else(|| kind.to_owned())),
        title: clean_name(resource.title.unwrap_or_else(|| title.to_owned())),
        file: resource.file.map(clean_name),
        line: resource.line,
        containment_path: path.map(clean_name).collect(),
        time: resource.time.as_deref().and_then(to_timestamp),
        evaluation_time: resource.evaluation_time.filter(|time| time.is_finite()),
        changed: is(resource.changed),
        failed: is(resource.failed),
        failed_to_restart: is(resource.failed_to_restart),
        skipped: is(resource.skipped),
        out_of_sync: is(resource.out_of_sync),
        corrective_change: is(resource.corrective_change),
        events: events.map(reported_event).collect(),
    }
}

fn reported_event(event: AgentEvent) -> ReportedEvent {
    ReportedEvent {
        status: clean_text(event.status.unwrap_or_default(), KEY_BYTES),
        name: event.name.map(clean_name),
        property: event.property.map(clean_name),
        previous_value: to_value_text(event.previous_value.as_deref()),
        desired_value: to_value_text(event.desired_value.as_deref()),
        message: event.message.map(clean_message),
        time: event.time.as_deref().and_then(to_timestamp),
        corrective_change: event.corrective_change,
    }
}

/// A string as it is, null as the empty text, other values as JSON.
fn to_value_text(value: Option<&RawValue>) -> String {
    let Some(json) = value.map(RawValue::get) else {
        return String::new();
    };
    let text = match json.as_bytes().first() {
        Some(b'"') => serde_json::from_str(json).unwrap_or_else(|_| json.to_owned()),
        _ if json == "null" => String::new(),
        _ => json.to_owned(),
    };
    clean_message(text)
}

fn to_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A UUID in its usual form; `None` if the text is none.
pub(crate) fn to_uuid(text: &str) -> Option<String> {
    let uuid: Uuid = text.parse().ok()?;
    Some(uuid.hyphenated().to_string())
}

fn to_timestamp(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}
