//! The `metadata` file of a spool entry: [`TransactionRecord`].
//!
//! Keys are pxp-agent's; Tutti's are under `tutti`. Invariant: parameters are not written
//! (`request_params` is always `{}`), results are not copied into it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use pcp::PcpUri;
use pxp::TransactionId;
use serde::{Deserialize, Serialize};

/// Stored facts about a transaction.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TransactionRecord {
    pub(crate) requester: PcpUri,
    pub(crate) module: String,
    pub(crate) action: String,
    pub(crate) request_params: String,
    pub(crate) transaction_id: TransactionId,
    /// Id of the request message, quoted in error replies.
    pub(crate) request_id: String,
    pub(crate) notify_outcome: bool,
    pub(crate) start: Timestamp,
    pub(crate) status: RecordStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) end: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) results_are_valid: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) execution_error: Option<String>,
    /// Absent in entries that pxp-agent left behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tutti: Option<RecordExtension>,
}

/// Status of a transaction, in pxp-agent's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RecordStatus {
    Running,
    Success,
    Failure,
    /// The end of the action cannot be determined.
    Undetermined,
}

/// Fields that this agent adds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RecordExtension {
    /// Id of the boot in which the request was accepted.
    pub(crate) boot_id: String,
    /// Time at which the request was accepted, in milliseconds since that boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) boot_ms: Option<u64>,
    pub(crate) result: ResultKind,
    /// True if the requester understands results whose output is cut. Older agents, which did not
    /// record it, served no other requesters.
    #[serde(default = "is_extended")]
    pub(crate) extended: bool,
    #[serde(default)]
    pub(crate) delivery: DeliveryState,
}

fn is_extended() -> bool {
    true
}

/// Interpretation of the output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResultKind {
    /// `{exitcode, stdout, stderr}`.
    Output,
    /// Stdout is the result, in JSON (external modules), with the keys that are required.
    Json { required: BTreeSet<String> },
    /// The result left by the runner of `pxp-module-puppet`, or built without it.
    Puppet,
}

/// Form in which output that is too large goes to the requester.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputEncoding {
    /// Up to `max-output-bytes` of each stream, marked as cut. For requesters that understand the
    /// mark.
    Cut,
    /// Complete output, and an error if a message cannot hold it, as in pxp-agent.
    Whole,
}

impl OutputEncoding {
    pub(crate) fn of(extended: bool) -> Self {
        if extended { Self::Cut } else { Self::Whole }
    }
}

/// Delivery state of the outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeliveryState {
    /// Number of times it was handed to a connection.
    pub(crate) sends: u32,
    /// True once the requester has confirmed that it stored the outcome.
    pub(crate) acknowledged: bool,
}

impl TransactionRecord {
    pub(crate) fn delivery(&self) -> DeliveryState {
        self.tutti
            .as_ref()
            .map(|tutti| tutti.delivery.clone())
            .unwrap_or_default()
    }

    pub(crate) fn result_kind(&self) -> ResultKind {
        self.tutti
            .as_ref()
            .map_or(ResultKind::Output, |tutti| tutti.result.clone())
    }

    /// Form in which output goes to the requester.
    pub(crate) fn carriage(&self) -> OutputEncoding {
        OutputEncoding::of(self.tutti.as_ref().is_some_and(|tutti| tutti.extended))
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("a record holds only plain values");
        bytes.push(b'\n');
        bytes
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn record(id: &str) -> TransactionRecord {
        TransactionRecord {
            requester: "pcp://orch.example.com:8143/server".parse().unwrap(),
            module: "task".into(),
            action: "run".into(),
            request_params: "{}".into(),
            transaction_id: id.parse().unwrap(),
            request_id: "b9e3e2c9-0c6a-4f3c-8d35-a8b1c2d3e4f5".into(),
            notify_outcome: true,
            start: Timestamp::now(),
            status: RecordStatus::Running,
            end: None,
            results_are_valid: None,
            execution_error: None,
            tutti: Some(RecordExtension {
                boot_id: "boot".into(),
                boot_ms: Some(0),
                result: ResultKind::Output,
                extended: true,
                delivery: DeliveryState::default(),
            }),
        }
    }

    #[test]
    fn what_pxp_agent_left_behind_is_understood() {
        let theirs = r#"{"requester":"pcp://orch/server","module":"command","action":"run",
            "request_params":"{}","transaction_id":"42","request_id":"1","notify_outcome":false,
            "start":"2026-11-21T06:08:12.545391Z","status":"success","end":"2026-11-21T06:08:13Z",
            "results_are_valid":true,"results":"{\"exitcode\":0}"}"#;
        let record: TransactionRecord = serde_json::from_str(theirs).unwrap();
        assert_eq!(record.status, RecordStatus::Success);
        assert!(record.tutti.is_none());
        assert_eq!(record.delivery(), DeliveryState::default());
    }

    #[test]
    fn a_record_reads_back() {
        let written = record("t1");
        let read: TransactionRecord = serde_json::from_slice(&written.to_bytes()).unwrap();
        assert_eq!(read.to_bytes(), written.to_bytes());
    }
}
