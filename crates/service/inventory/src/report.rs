//! [`Report`]: what came of one Puppet run, as PuppetDB's `reports` names it.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The summary of a run; without resources and logs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// PuppetDB's id of the report; empty in the embedded inventory.
    #[serde(default)]
    pub hash: String,
    /// The run's id.
    pub transaction_uuid: String,
    /// `changed`, `unchanged` or `failed`.
    #[serde(default)]
    pub status: Option<String>,
    /// Nothing was to be changed.
    #[serde(default)]
    pub noop: Option<bool>,
    /// Something would have been changed.
    #[serde(default)]
    pub noop_pending: Option<bool>,
    /// Something was changed back.
    #[serde(default)]
    pub corrective_change: Option<bool>,
    /// The environment of the run.
    #[serde(default)]
    pub environment: Option<String>,
    /// Of the code.
    #[serde(default)]
    pub configuration_version: Option<String>,
    /// Of the catalog.
    #[serde(default)]
    pub catalog_uuid: Option<String>,
    /// Of the code, where versions are kept.
    #[serde(default)]
    pub code_id: Option<String>,
    /// `not_used`, `explicitly_requested` or `on_failure`.
    #[serde(default)]
    pub cached_catalog_status: Option<String>,
    /// The orchestrator's job.
    #[serde(default)]
    pub job_id: Option<String>,
    /// Of the agent.
    #[serde(default)]
    pub puppet_version: Option<String>,
    /// When the run began.
    #[serde(default)]
    pub start_time: Option<Timestamp>,
    /// When it ended.
    #[serde(default)]
    pub end_time: Option<Timestamp>,
    /// When the report came in.
    #[serde(default)]
    pub receive_time: Option<Timestamp>,
    /// Counts and times: resources, events, changes.
    #[serde(default, deserialize_with = "metrics")]
    pub metrics: Vec<Metric>,
}

/// One figure of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// `resources`, `time`, `changes`, `events`.
    pub category: String,
    /// For example `failed`.
    pub name: String,
    /// A number.
    pub value: Value,
}

/// PuppetDB wraps the list: `{"data": […], "href": "…"}`.
fn metrics<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Metric>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        List(Vec<Metric>),
        Wrapped { data: Option<Vec<Metric>> },
        Nothing(()),
    }
    Ok(match Form::deserialize(deserializer)? {
        Form::List(metrics) => metrics,
        Form::Wrapped { data } => data.unwrap_or_default(),
        Form::Nothing(()) => Vec::new(),
    })
}
