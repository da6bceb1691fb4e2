//! From a spool entry to what the requester is told: [`Outcome`].
//!
//! Blocking on the disk. The rule: read anew from the entry each time, so an
//! outcome that waits for a connection takes no memory.

use std::io;

use pxp::action::ActionResult;
use pxp::{Body, Response, RpcError, TransactionId};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::EngineConfig;
use super::carry::{Captured, Carried, fit};
use super::intake::Asker;
use crate::defaults::MESSAGE_OVERHEAD_BYTES;
use crate::process::ExitRecord;
use crate::spool::{Entry, ResultKind, STDERR_FILE, STDOUT_FILE, Status};

/// How an action ended, as it is told.
#[derive(Debug)]
pub(super) enum Outcome {
    Results {
        results: Box<RawValue>,
        success: bool,
    },
    /// It could not be carried out, or its result is not usable.
    Error(String),
}

impl Outcome {
    /// The outcome of an action with this end. `label` names the request.
    pub(super) fn of(
        entry: &Entry,
        exit: &ExitRecord,
        kind: &ResultKind,
        label: &str,
        config: &EngineConfig,
    ) -> io::Result<Self> {
        if let Some(error) = &exit.error {
            return Ok(Self::Error(format!(
                "Failed to execute the task for the {label}. Error: {error}"
            )));
        }
        match kind {
            ResultKind::Output => {
                let result = action_result(entry, exit, config)?;
                let success = result.exitcode == 0;
                Ok(Self::Results {
                    results: encode(&result),
                    success,
                })
            }
            ResultKind::Json { required } => {
                let limit = (config.max_message_bytes - MESSAGE_OVERHEAD_BYTES) as u64;
                let stdout = entry.output(STDOUT_FILE, 0, exit.stdout_bytes.min(limit))?;
                let invalid = |why: String| {
                    Ok(Self::Error(format!(
                        "The task executed for the {label} returned invalid results on stdout: {why}"
                    )))
                };
                let results: Value = match serde_json::from_slice(&stdout) {
                    Ok(results) => results,
                    Err(error) => return invalid(error.to_string()),
                };
                if let Some(missing) = required.iter().find(|key| results.get(key).is_none()) {
                    return invalid(format!("{missing:?} is missing"));
                }
                // Errors of external modules are results with an exit code of 1.
                Ok(Self::Results {
                    results: encode(&results),
                    success: exit.exitcode == 0,
                })
            }
        }
    }

    pub(super) fn status(&self) -> Status {
        match self {
            Self::Results { success: true, .. } => Status::Success,
            Self::Results { .. } | Self::Error(_) => Status::Failure,
        }
    }

    /// The message that tells it.
    pub(super) fn into_body(self, id: TransactionId, asker: &Asker, blocking: bool) -> Body {
        match self {
            Self::Results { results, .. } => {
                let response = Response {
                    transaction_id: id,
                    results,
                };
                if blocking {
                    Body::BlockingResponse(response)
                } else {
                    Body::NonBlockingResponse(response)
                }
            }
            Self::Error(description) => Body::Error(RpcError {
                transaction_id: id,
                id: asker.message_id,
                description,
            }),
        }
    }
}

/// Exit code and output, cut to what a message may hold.
pub(super) fn action_result(
    entry: &Entry,
    exit: &ExitRecord,
    config: &EngineConfig,
) -> io::Result<ActionResult> {
    let capture = |stream, total_bytes: u64| -> io::Result<Captured> {
        let head = entry.output(stream, 0, total_bytes.min(config.max_output_bytes))?;
        // A file that shrank meanwhile is as long as it is.
        let total_bytes = if head.is_empty() { 0 } else { total_bytes };
        Ok(Captured { head, total_bytes })
    };
    let stdout = capture(STDOUT_FILE, exit.stdout_bytes)?;
    let stderr = capture(STDERR_FILE, exit.stderr_bytes)?;
    let budget = config
        .max_message_bytes
        .saturating_sub(MESSAGE_OVERHEAD_BYTES);
    let [stdout, stderr] = fit(stdout, stderr, budget);
    Ok(ActionResult {
        exitcode: i64::from(exit.exitcode),
        stdout: not_empty(&stdout),
        stderr: not_empty(&stderr),
        signal: exit.signal,
        stdout_truncated: stdout.truncated_from.is_some(),
        stderr_truncated: stderr.truncated_from.is_some(),
        stdout_bytes: stdout.truncated_from,
        stderr_bytes: stderr.truncated_from,
        stdout_base64: stdout.base64,
        stderr_base64: stderr.base64,
        cancelled: exit.cancelled,
        timed_out: exit.timed_out,
    })
}

fn not_empty(carried: &Carried) -> Option<String> {
    (!carried.text.is_empty()).then(|| carried.text.clone())
}

fn encode(value: &impl serde::Serialize) -> Box<RawValue> {
    to_raw_value(value).expect("plain values serialise")
}
