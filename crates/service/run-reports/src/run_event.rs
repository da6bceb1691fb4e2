//! The event that webhooks tell of a Puppet run. Main function: [`run_event`].
//!
//! Invariant: an event has no text of the node beyond the names and versions of the summary.

use inventory::{PuppetReport, ReportMetric};
use serde::Serialize;
use serde_json::{Map, Value};
use store::NewPuppetRunEvent;

use crate::report::RunReport;

/// The details of the event, with the names that the reports have in the API.
#[derive(Serialize)]
struct RunEventDetails<'a> {
    report: &'a str,
    status: &'static str,
    noop: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    noop_pending: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    corrective_change: Option<bool>,
    environment: Option<&'a str>,
    transaction_uuid: &'a str,
    catalog_uuid: Option<&'a str>,
    code_id: Option<&'a str>,
    configuration_version: Option<&'a str>,
    cached_catalog_status: Option<&'a str>,
    job: Option<&'a str>,
    start_time: Option<String>,
    end_time: Option<String>,
    /// Numbers of resources by their states.
    resources: Map<String, Value>,
    /// Numbers of events by their results.
    events: Map<String, Value>,
}

/// The event for the report of a run.
pub(crate) fn run_event(report: &RunReport) -> serde_json::Result<NewPuppetRunEvent> {
    let PuppetReport {
        hash,
        transaction_uuid,
        noop,
        noop_pending,
        corrective_change,
        environment,
        catalog_uuid,
        code_id,
        configuration_version,
        cached_catalog_status,
        job_id,
        start_time,
        end_time,
        ..
    } = &report.summary;
    let metrics = &report.detail.metrics;
    let details = RunEventDetails {
        report: hash,
        status: report.status.as_str(),
        noop: noop.unwrap_or(false),
        noop_pending: *noop_pending,
        corrective_change: *corrective_change,
        environment: environment.as_deref(),
        transaction_uuid,
        catalog_uuid: catalog_uuid.as_deref(),
        code_id: code_id.as_deref(),
        configuration_version: configuration_version.as_deref(),
        cached_catalog_status: cached_catalog_status.as_deref(),
        job: job_id.as_deref(),
        start_time: start_time.map(|time| time.to_string()),
        end_time: end_time.map(|time| time.to_string()),
        resources: counts(metrics, "resources"),
        events: counts(metrics, "events"),
    };
    Ok(NewPuppetRunEvent {
        kind: format!("puppet_run_{}", report.status),
        details: serde_json::to_string(&details)?,
    })
}

/// Number of counts of a category in an event: Puppet has eight of resources and four of events.
const COUNTS: usize = 16;

fn counts(metrics: &[ReportMetric], category: &str) -> Map<String, Value> {
    let of_category = metrics.iter().filter(|metric| metric.category == category);
    of_category
        .take(COUNTS)
        .map(|metric| (metric.name.clone(), metric.value.clone()))
        .collect()
}
