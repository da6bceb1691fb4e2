//! What comes back from actions that run a process, and from a status query.
//!
//! The rule: `stdout` and `stderr` are always text; what they leave out is said in the extension
//! keys, which stock orchestrators ignore.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::TransactionId;

/// The outcome of `command`, `task`, `script` and `file`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionResult {
    /// 0 to 255; `128 + signal` when a signal ended it, as shells say. A stock pxp-agent says
    /// -128 to -1 for 128 to 255, and the bare signal's number for a signal.
    pub exitcode: i64,
    /// Absent when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Absent when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Extension: the signal that ended the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Extension: the true bytes when they are not UTF-8; `stdout` is then lossy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout_base64: Option<String>,
    /// Extension: as for stdout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_base64: Option<String>,
    /// Extension: `stdout` is only a part.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stdout_truncated: bool,
    /// Extension: `stderr` is only a part.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stderr_truncated: bool,
    /// Extension: how many bytes there were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout_bytes: Option<u64>,
    /// Extension: how many bytes there were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_bytes: Option<u64>,
    /// Extension: it was ended on request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// Extension: it was ended because its time was up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

/// What an agent knows of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It never heard of it, or cannot say what came of it.
    Unknown,
    /// It is running.
    Running,
    /// It ended with exit code 0.
    Success,
    /// It ended otherwise.
    Failure,
}

/// The answer to `status` / `query`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusResult {
    /// As asked for.
    pub transaction_id: TransactionId,
    /// What is known.
    pub status: Status,
    /// Only with success and failure; then as in [`ActionResult`], like all that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exitcode: Option<i64>,
    /// Absent when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Absent when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout_base64: Option<String>,
    /// Extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_base64: Option<String>,
    /// Extension.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stdout_truncated: bool,
    /// Extension.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stderr_truncated: bool,
    /// Extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout_bytes: Option<u64>,
    /// Extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_bytes: Option<u64>,
    /// Extension.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// Extension.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Extension: what a running action waits for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
    /// Extension: the reason for which the end of the action cannot be known, now or later. Only
    /// with [`Status::Unknown`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undetermined: Option<String>,
    /// Extension: the identity of the spool that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spool_id: Option<Uuid>,
}

impl StatusResult {
    /// An answer that knows only the state.
    pub fn new(transaction_id: TransactionId, status: Status) -> Self {
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

    /// An answer about an action that ended: success is exit code 0.
    pub fn finished(transaction_id: TransactionId, result: ActionResult) -> Self {
        let status = if result.exitcode == 0 {
            Status::Success
        } else {
            Status::Failure
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

    /// The action's result, if it ended.
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
