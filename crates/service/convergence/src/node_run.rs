//! The run of Puppet on one node, as a wave counts it: [`NodeRun`].
//!
//! Invariant: results come from nodes, so any field may be missing or of another type than expected.

use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::defaults::{NAMED_RESOURCES, RERUN_REQUESTS, RESOURCE_MESSAGES};

/// Error kind of a node that did not run because one did not succeed that it waits for.
const DEPENDENCY_FAILED: &str = jobs::KIND_DEPENDENCY;

/// A run of a wave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRun {
    pub certname: String,
    pub end: RunEnd,
    /// Requests to run again.
    pub reruns: Vec<RequestedRerun>,
    pub changes: ChangedResources,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    Succeeded {
        /// True if a resource changed.
        is_changed: bool,
    },
    /// Puppet ran, and failed.
    Failed { message: String },
    /// Puppet did not run.
    NotRun { message: String },
    /// A node did not succeed that this one waits for.
    Skipped {
        message: String,
        /// The node whose run did not succeed.
        failed: String,
    },
}

/// A request of a run to be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedRerun {
    pub key: String,
    /// Shortest pause before the rerun.
    pub delta: Duration,
}

/// The changes of a run, and its failures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedResources {
    /// Hash over resources, results and messages, and over the errors of a run that failed. Messages name old and new
    /// values.
    pub fingerprint: [u8; 32],
    /// The first of them, as `Type[title]`.
    pub names: Vec<String>,
    /// False if the result leaves out some, so that two equal fingerprints prove nothing.
    pub is_complete: bool,
}

// === impl NodeRun ===

impl NodeRun {
    /// Reads an item of `results` in the outcome of a job; `None` if it names no node.
    pub fn from_result(result: &Value) -> Option<Self> {
        let value = &result["value"];
        Some(Self {
            certname: result["target"].as_str()?.to_owned(),
            end: RunEnd::from_result(result["status"] == "success", value),
            reruns: read_reruns(value),
            changes: ChangedResources::from_result(value),
        })
    }
}

impl RunEnd {
    fn from_result(is_success: bool, value: &Value) -> Self {
        if is_success {
            let is_changed = value["status"] == "changed";
            return Self::Succeeded { is_changed };
        }
        let error = &value["_error"];
        let message = error["msg"].as_str().map(str::to_owned);
        let is_reported = value["transaction_uuid"].is_string();
        match (error["kind"].as_str(), message) {
            (Some(DEPENDENCY_FAILED), message) => Self::Skipped {
                message: message.unwrap_or_default(),
                failed: error["details"]["failed"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            },
            (_, message) if is_reported => Self::Failed {
                message: name_failed_resources(value)
                    .or(message)
                    .unwrap_or_else(|| "the run failed".to_owned()),
            },
            (_, message) => Self::NotRun {
                message: message.unwrap_or_else(|| "Puppet did not run".to_owned()),
            },
        }
    }
}

impl ChangedResources {
    fn from_result(value: &Value) -> Self {
        let resources = value["resources"].as_array().into_iter().flatten();
        let mut items: Vec<(String, String)> = resources
            .filter(|resource| resource["status"] != "noop" && !is_requester(resource))
            .map(|resource| {
                let name = name_resource(resource);
                let messages = resource["messages"].as_array().into_iter().flatten();
                let messages: Vec<_> = messages.map(without_origin).collect();
                // a document of its own, so that no text can pass for another field
                let detail = serde_json::json!([name, resource["status"], messages]);
                (name, detail.to_string())
            })
            .collect();
        items.sort();
        let mut hash = Sha256::new();
        for (_, detail) in &items {
            hash.update(detail.as_bytes());
            hash.update(b"\n");
        }
        // Failures without resources differ by what was logged.
        let failure = (value["status"] != "changed" && value["status"] != "unchanged")
            .then(|| serde_json::json!([value["status"], value["errors"], value["_error"]["msg"]]));
        hash.update(serde_json::json!(failure).to_string());
        let omitted = &value["resources_omitted"];
        let is_omitted = |key: &str| omitted[key].as_u64().is_some_and(|count| count > 0);
        Self {
            fingerprint: hash.finalize().into(),
            names: items
                .into_iter()
                .map(|(name, _)| name)
                .take(NAMED_RESOURCES)
                .collect(),
            is_complete: !is_omitted("changed")
                && !is_omitted("failed")
                && !has_cut_messages(value),
        }
    }
}

/// True if the messages of a resource may have been cut, by their number or their length.
fn has_cut_messages(value: &Value) -> bool {
    let resources = value["resources"].as_array().into_iter().flatten();
    let mut messages = resources.filter_map(|resource| resource["messages"].as_array());
    messages.any(|messages| {
        let mut texts = messages.iter().filter_map(Value::as_str);
        messages.len() >= RESOURCE_MESSAGES || texts.any(|text| text.ends_with('…'))
    })
}

fn read_reruns(value: &Value) -> Vec<RequestedRerun> {
    let requests = value["reruns"].as_array().into_iter().flatten();
    let read = |request: &Value| {
        let delta = request["delta_s"].as_f64().unwrap_or_default();
        Some(RequestedRerun {
            key: request["key"].as_str()?.to_owned(),
            delta: Duration::try_from_secs_f64(delta).unwrap_or_default(),
        })
    };
    requests.filter_map(read).take(RERUN_REQUESTS).collect()
}

/// True for the resources with which a run requests another one; they change in each such run.
fn is_requester(resource: &Value) -> bool {
    let title = resource["title"].as_str().unwrap_or_default();
    resource["type"] == "Exec" && (title == "again" || title.starts_with("again-delta-"))
}

/// A message without the note that Puppet adds if the last run had left the resource otherwise.
fn without_origin(message: &Value) -> &str {
    let message = message.as_str().unwrap_or_default();
    message.strip_suffix(" (corrective)").unwrap_or(message)
}

fn name_resource(resource: &Value) -> String {
    let text = |key: &str| resource[key].as_str().unwrap_or_default();
    format!("{}[{}]", text("type"), text("title"))
}

/// The failed resources of a run in a sentence; `None` if there are none.
fn name_failed_resources(value: &Value) -> Option<String> {
    let resources = value["resources"].as_array().into_iter().flatten();
    let failed: Vec<String> = resources
        .filter(|resource| resource["status"] == "failed")
        .map(name_resource)
        .take(NAMED_RESOURCES)
        .collect();
    (!failed.is_empty()).then(|| format!("{} failed", failed.join(", ")))
}
