//! Builds the outcome reported to a requester from a spool entry: [`ActionOutcome`].
//!
//! Blocks on the disk. Invariant: the entry is read each time, so an outcome that waits for a
//! connection takes no memory.

use std::fmt::Display;
use std::io;

use pxp::action::ActionResult;
use pxp::{PxpMessageBody, PxpResponse, RpcError, TransactionId};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::config::EngineConfig;
use super::output_encoding::{CapturedOutput, EncodedOutput, fit, fits};
use super::requester::ActionRequester;
use crate::defaults::MESSAGE_OVERHEAD_BYTES;
use crate::modules::result_of;
use crate::process::ExitRecord;
use crate::spool::{
    OutputEncoding, RecordStatus, ResultKind, STDERR_FILE, STDOUT_FILE, SpoolEntry,
};

/// First words of every text about an action which may or may not have run.
const NOT_KNOWN: &str = "the outcome is not known";

/// The end of an action in the form reported to its requester.
#[derive(Debug)]
pub(super) enum ActionOutcome {
    Results {
        results: Box<RawValue>,
        success: bool,
    },
    /// The action could not be executed, or its result is not usable.
    Error(String),
}

impl ActionOutcome {
    /// The outcome of an action with this end. `label` names the request, and `carriage` is its
    /// requester's.
    pub(super) fn of(
        entry: &SpoolEntry,
        exit: &ExitRecord,
        kind: &ResultKind,
        (label, carriage): (&str, OutputEncoding),
        config: &EngineConfig,
    ) -> io::Result<Self> {
        if let Some(error) = &exit.error {
            return Ok(Self::Error(format!(
                "Failed to execute the task for the {label}. Error: {error}"
            )));
        }
        match kind {
            ResultKind::Output => {
                let result = match action_result(entry, exit, carriage, config)? {
                    Ok(result) => result,
                    Err(too_large) => return Ok(Self::Error(too_large.to_string())),
                };
                let success = result.exitcode == 0;
                Ok(Self::Results {
                    results: encode(&result),
                    success,
                })
            }
            ResultKind::Puppet => {
                let loss = exit.loss.map(|loss| loss.describe(&config.spool_dir));
                let result = result_of(entry.path(), exit, loss.as_deref());
                Ok(Self::Results {
                    success: exit.exitcode == 0,
                    results: encode(&result),
                })
            }
            ResultKind::Json { required } => {
                let limit = (config.max_message_bytes - MESSAGE_OVERHEAD_BYTES) as u64;
                let wanted = exit.stdout_bytes.min(limit);
                let stdout = entry.output(STDOUT_FILE, 0, wanted)?;
                if (stdout.len() as u64) < wanted {
                    return Err(io::Error::other(format!(
                        "of {wanted} bytes on stdout only {} are left",
                        stdout.len()
                    )));
                }
                let lost = exit.loss.map(|loss| loss.describe(&config.spool_dir));
                let invalid = |why: String| {
                    let why = lost.clone().unwrap_or(why);
                    Ok(Self::Error(format!(
                        "The task executed for the {label} returned invalid results on stdout: {why}"
                    )))
                };
                let results: Value = match decode_errors::json::from_slice(&stdout) {
                    Ok(results) => results,
                    Err(error) => return invalid(error.to_string()),
                };
                if let Some(missing) = required.iter().find(|key| results.get(key).is_none()) {
                    return invalid(format!("{missing:?} is missing"));
                }
                // Errors of external modules are reported as results with exit code 1.
                Ok(Self::Results {
                    results: encode(&results),
                    success: exit.exitcode == 0,
                })
            }
        }
    }

    pub(super) fn status(&self) -> RecordStatus {
        match self {
            Self::Results { success: true, .. } => RecordStatus::Success,
            Self::Results { .. } | Self::Error(_) => RecordStatus::Failure,
        }
    }

    /// The message that carries the outcome.
    pub(super) fn into_body(
        self,
        id: TransactionId,
        asker: &ActionRequester,
        blocking: bool,
    ) -> PxpMessageBody {
        match self {
            Self::Results { results, .. } => {
                let response = PxpResponse {
                    transaction_id: id,
                    results,
                };
                if blocking {
                    PxpMessageBody::BlockingResponse(response)
                } else {
                    PxpMessageBody::NonBlockingResponse(response)
                }
            }
            Self::Error(description) => PxpMessageBody::Error(RpcError {
                transaction_id: id,
                id: asker.message_id,
                description,
            }),
        }
    }
}

/// Error for output that no message can hold, in pxp-agent's words.
#[derive(Debug, thiserror::Error)]
#[error("Message size: {size_bytes} exceeded max-message-size {limit_bytes}")]
pub(super) struct OutputTooLarge {
    size_bytes: u64,
    limit_bytes: usize,
}

/// Exit code and output, cut to the size of a message, or an error if the requester would take cut
/// output for complete output. If output may be missing, stderr starts with a notice of the agent.
pub(super) fn action_result(
    entry: &SpoolEntry,
    exit: &ExitRecord,
    carriage: OutputEncoding,
    config: &EngineConfig,
) -> io::Result<Result<ActionResult, OutputTooLarge>> {
    let limit = match carriage {
        OutputEncoding::Cut => config.max_output_bytes,
        OutputEncoding::Whole => config.max_message_bytes as u64,
    };
    let capture = |stream, total_bytes: u64| -> io::Result<CapturedOutput> {
        let head = entry.output(stream, 0, total_bytes.min(limit))?;
        // A file that lost bytes is carried like one that was cut.
        Ok(CapturedOutput { head, total_bytes })
    };
    let stdout = capture(STDOUT_FILE, exit.stdout_bytes)?;
    let mut stderr = capture(STDERR_FILE, exit.stderr_bytes)?;
    if let Some(loss) = exit.loss {
        // At the start of stderr, which every orchestrator shows and quotes first.
        let words = format!("tutti-agent: {}\n", loss.describe(&config.spool_dir));
        stderr.total_bytes += words.len() as u64;
        stderr.head.splice(..0, words.into_bytes());
    }
    let budget = config
        .max_message_bytes
        .saturating_sub(MESSAGE_OVERHEAD_BYTES);
    if carriage == OutputEncoding::Whole && !fits(&stdout, &stderr, budget) {
        return Ok(Err(OutputTooLarge {
            size_bytes: exit.stdout_bytes + exit.stderr_bytes,
            limit_bytes: config.max_message_bytes,
        }));
    }
    let [stdout, stderr] = fit(stdout, stderr, budget);
    Ok(Ok(ActionResult {
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
    }))
}

fn not_empty(carried: &EncodedOutput) -> Option<String> {
    (!carried.text.is_empty()).then(|| carried.text.clone())
}

/// The text of an outcome that cannot be determined. By its first words requesters distinguish it
/// from an action that is known not to have run.
pub(super) fn unknown_outcome_text(why: impl Display) -> String {
    let why = why.to_string();
    if why.starts_with(NOT_KNOWN) {
        why
    } else {
        format!("{NOT_KNOWN}: {why}")
    }
}

fn encode(value: &impl serde::Serialize) -> Box<RawValue> {
    to_raw_value(value).expect("plain values serialise")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::spool::Spool;

    const STDOUT: &str = "{\"a\":1}";

    /// An entry whose stdout lost all but `left` bytes after its end was recorded.
    fn damaged(left: usize) -> (tempfile::TempDir, SpoolEntry, ExitRecord, EngineConfig) {
        let dir = tempfile::tempdir().unwrap();
        let config = EngineConfig::new(dir.path().into(), dir.path().into(), vec![]);
        let entry = Spool::open(dir.path()).unwrap().scratch();
        entry.make().unwrap();
        entry.write_output(STDOUT_FILE, &STDOUT[..left]).unwrap();
        let mut exit = ExitRecord::not_run(0, None);
        exit.stdout_bytes = STDOUT.len() as u64;
        (dir, entry, exit, config)
    }

    #[test]
    fn output_that_was_lost_is_said_to_be_missing() {
        for left in [0, 3] {
            let (_dir, entry, exit, config) = damaged(left);
            let result = action_result(&entry, &exit, OutputEncoding::Cut, &config);
            let result = result.unwrap().unwrap();
            assert!(result.stdout_truncated);
            assert_eq!(result.stdout_bytes, Some(STDOUT.len() as u64));
            assert_eq!(result.stdout.unwrap_or_default(), STDOUT[..left]);
            assert!(!result.stderr_truncated);
        }
        let (_dir, entry, exit, config) = damaged(STDOUT.len());
        let result = action_result(&entry, &exit, OutputEncoding::Cut, &config);
        let result = result.unwrap().unwrap();
        assert_eq!(
            (result.stdout_truncated, result.stdout_bytes),
            (false, None)
        );
    }

    #[test]
    fn a_result_in_json_that_lost_bytes_is_no_invalid_result() {
        let kind = ResultKind::Json {
            required: BTreeSet::new(),
        };
        let (_dir, entry, exit, config) = damaged(3);
        let error = ActionOutcome::of(
            &entry,
            &exit,
            &kind,
            ("request", OutputEncoding::Cut),
            &config,
        )
        .unwrap_err();
        assert!(error.to_string().contains("only 3 are left"), "{error}");
    }

    #[test]
    fn a_reason_is_introduced_once() {
        let text = unknown_outcome_text("no light");
        assert_eq!(text, "the outcome is not known: no light");
        assert_eq!(unknown_outcome_text(&text), text);
        assert_eq!(unknown_outcome_text(NOT_KNOWN), NOT_KNOWN);
    }
}
