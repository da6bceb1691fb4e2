//! Results of actions that run a process, and of a status query.
//!
//! Invariant: `stdout` and `stderr` are always text; extension keys, which stock orchestrators
//! ignore, describe the part that they omit.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::TransactionId;

/// The outcome of `command`, `task`, `script` and `file`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionResult {
    /// Exit code from 0 to 255; `128 + signal` if a signal ended the process, as in shells. A stock
    /// pxp-agent returns -128 to -1 for 128 to 255, and the bare signal number for a signal.
    pub exitcode: i64,
    /// Standard output; absent when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Standard error; absent when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Extension: the signal that ended the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Extension: the exact bytes if they are not UTF-8; `stdout` is then lossy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout_base64: Option<String>,
    /// Extension: as `stdout_base64`, for standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_base64: Option<String>,
    /// Extension: `stdout` contains only a part of the output.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stdout_truncated: bool,
    /// Extension: `stderr` contains only a part of the output.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stderr_truncated: bool,
    /// Extension: total bytes that the process wrote to standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout_bytes: Option<u64>,
    /// Extension: total bytes that the process wrote to standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_bytes: Option<u64>,
    /// Extension: true if the action was ended on request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// Extension: true if the action was ended by its timeout.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

/// An agent's knowledge of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TransactionStatus {
    /// The agent does not know the transaction, or cannot determine its outcome.
    Unknown,
    /// The action is still running.
    Running,
    /// The action ended with exit code 0.
    Success,
    /// The action ended with another exit code.
    Failure,
}

/// The result of `status` / `query`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusResult {
    /// Transaction id from the request.
    pub transaction_id: TransactionId,
    /// Status of that transaction at the agent.
    pub status: TransactionStatus,
    /// Exit code, only with success and failure; this and all following members are as in
    /// [`ActionResult`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exitcode: Option<i64>,
    /// Standard output; absent when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Standard error; absent when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Extension: as in [`ActionResult::signal`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Extension: as in [`ActionResult::stdout_base64`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout_base64: Option<String>,
    /// Extension: as in [`ActionResult::stderr_base64`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_base64: Option<String>,
    /// Extension: as in [`ActionResult::stdout_truncated`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stdout_truncated: bool,
    /// Extension: as in [`ActionResult::stderr_truncated`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stderr_truncated: bool,
    /// Extension: as in [`ActionResult::stdout_bytes`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout_bytes: Option<u64>,
    /// Extension: as in [`ActionResult::stderr_bytes`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_bytes: Option<u64>,
    /// Extension: as in [`ActionResult::cancelled`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// Extension: as in [`ActionResult::timed_out`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Extension: free text about the event that a running action waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
    /// Extension: the reason for which the end of the action cannot be determined, now or later.
    /// Only with [`TransactionStatus::Unknown`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undetermined: Option<String>,
    /// Extension: id of the spool of the agent that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spool_id: Option<Uuid>,
}

impl StatusResult {
    /// A result with only the status.
    pub fn new(transaction_id: TransactionId, status: TransactionStatus) -> Self {
        Self {
            transaction_id,
            status,
            exitcode: None,
            stdout: None,
            stderr: None,
            signal: None,
            stdout_base64: None,
            stderr_base64: None,
            stdout_truncated: false,
            stderr_truncated: false,
            stdout_bytes: None,
            stderr_bytes: None,
            cancelled: false,
            timed_out: false,
            waiting: None,
            undetermined: None,
            spool_id: None,
        }
    }

    /// A result about an action that ended: success is exit code 0.
    pub fn finished(transaction_id: TransactionId, result: ActionResult) -> Self {
        let status = if result.exitcode == 0 {
            TransactionStatus::Success
        } else {
            TransactionStatus::Failure
        };
        Self {
            exitcode: Some(result.exitcode),
            stdout: result.stdout,
            stderr: result.stderr,
            signal: result.signal,
            stdout_base64: result.stdout_base64,
            stderr_base64: result.stderr_base64,
            stdout_truncated: result.stdout_truncated,
            stderr_truncated: result.stderr_truncated,
            stdout_bytes: result.stdout_bytes,
            stderr_bytes: result.stderr_bytes,
            cancelled: result.cancelled,
            timed_out: result.timed_out,
            ..Self::new(transaction_id, status)
        }
    }

    /// The action's result; `None` if it has not ended.
    pub fn into_result(self) -> Option<ActionResult> {
        Some(ActionResult {
            exitcode: self.exitcode?,
            stdout: self.stdout,
            stderr: self.stderr,
            signal: self.signal,
            stdout_base64: self.stdout_base64,
            stderr_base64: self.stderr_base64,
            stdout_truncated: self.stdout_truncated,
            stderr_truncated: self.stderr_truncated,
            stdout_bytes: self.stdout_bytes,
            stderr_bytes: self.stderr_bytes,
            cancelled: self.cancelled,
            timed_out: self.timed_out,
        })
    }
}
