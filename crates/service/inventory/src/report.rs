//! [`PuppetReport`]: the result of one Puppet run, with the names of PuppetDB's `reports`.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The summary of a run; without resources and logs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PuppetReport {
    /// Id of the report; empty if this is not the agent's own report but the result of a job.
    #[serde(default)]
    pub hash: String,
    /// Transaction id of the run.
    pub transaction_uuid: String,
    /// `changed`, `unchanged` or `failed`.
    #[serde(default)]
    pub status: Option<String>,
    /// `true` if the run was in noop mode.
    #[serde(default)]
    pub noop: Option<bool>,
    /// `true` if the run would have made changes without noop.
    #[serde(default)]
    pub noop_pending: Option<bool>,
    /// `true` if a corrective change was made.
    #[serde(default)]
    pub corrective_change: Option<bool>,
    /// The environment of the run.
    #[serde(default)]
    pub environment: Option<String>,
    /// Configuration version of the catalog's code.
    #[serde(default)]
    pub configuration_version: Option<String>,
    /// PuppetDB's UUID of the catalog.
    #[serde(default)]
    pub catalog_uuid: Option<String>,
    /// Code id of the catalog, if the server has code versions.
    #[serde(default)]
    pub code_id: Option<String>,
    /// `not_used`, `explicitly_requested` or `on_failure`.
    #[serde(default)]
    pub cached_catalog_status: Option<String>,
    /// Id of the orchestrator's job that started the run.
    #[serde(default)]
    pub job_id: Option<String>,
    /// Puppet version of the agent.
    #[serde(default)]
    pub puppet_version: Option<String>,
    /// Start time of the run.
    #[serde(default)]
    pub start_time: Option<Timestamp>,
    /// End time of the run.
    #[serde(default)]
    pub end_time: Option<Timestamp>,
    /// Time at which the report was received.
    #[serde(default)]
    pub receive_time: Option<Timestamp>,
    /// Counts and times: resources, events, changes.
    #[serde(default, deserialize_with = "metrics")]
    pub metrics: Vec<ReportMetric>,
}

/// One metric of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportMetric {
    /// Category: `resources`, `time`, `changes` or `events`.
    pub category: String,
    /// Name within the category, for example `failed`.
    pub name: String,
    /// Value of the metric, a number.
    pub value: Value,
}

// === impl PuppetReport ===

impl PuppetReport {
    /// PuppetDB's columns of a report, without `metrics`, which are large.
    pub const COLUMNS: [&str; 16] = [
        "hash",
        "transaction_uuid",
        "status",
        "noop",
        "noop_pending",
        "corrective_change",
        "environment",
        "configuration_version",
        "catalog_uuid",
        "code_id",
        "cached_catalog_status",
        "job_id",
        "puppet_version",
        "start_time",
        "end_time",
        "receive_time",
    ];

    /// Returns `true` if this is the agent's own report.
    pub fn is_from_agent(&self) -> bool {
        !self.hash.is_empty()
    }

    /// One report of two about the same run. The agent's own report counts, or else `newer`; the
    /// values that it does not have are those of the other.
    #[must_use]
    pub fn merge(newer: Self, known: Self) -> Self {
        let (base, other) = match known.is_from_agent() && !newer.is_from_agent() {
            true => (known, newer),
            false => (newer, known),
        };
        Self {
            hash: base.hash,
            transaction_uuid: base.transaction_uuid,
            status: base.status.or(other.status),
            noop: base.noop.or(other.noop),
            noop_pending: base.noop_pending.or(other.noop_pending),
            corrective_change: base.corrective_change.or(other.corrective_change),
            environment: base.environment.or(other.environment),
            configuration_version: base.configuration_version.or(other.configuration_version),
            catalog_uuid: base.catalog_uuid.or(other.catalog_uuid),
            code_id: base.code_id.or(other.code_id),
            cached_catalog_status: base.cached_catalog_status.or(other.cached_catalog_status),
            job_id: base.job_id.or(other.job_id),
            puppet_version: base.puppet_version.or(other.puppet_version),
            start_time: base.start_time.or(other.start_time),
            end_time: base.end_time.or(other.end_time),
            receive_time: base.receive_time.or(other.receive_time),
            metrics: match base.metrics.is_empty() {
                true => other.metrics,
                false => base.metrics,
            },
        }
    }
}

/// PuppetDB wraps the list: `{"data": […], "href": "…"}`.
fn metrics<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ReportMetric>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum MetricsForm {
        List(Vec<ReportMetric>),
        Wrapped { data: Option<Vec<ReportMetric>> },
        Nothing(()),
    }
    Ok(match MetricsForm::deserialize(deserializer)? {
        MetricsForm::List(metrics) => metrics,
        MetricsForm::Wrapped { data } => data.unwrap_or_default(),
        MetricsForm::Nothing(()) => Vec::new(),
    })
}
