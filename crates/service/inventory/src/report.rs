//! [`PuppetReport`]: the result of one Puppet run, with the names of PuppetDB's `reports`.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The summary of a run; without resources and logs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PuppetReport {
    /// PuppetDB's id of the report; empty in the embedded inventory.
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
