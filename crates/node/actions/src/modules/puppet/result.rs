//! Conversion of the end of a run to its [`PuppetResult`], and its transfer through the spool
//! entry: [`write_result`] in the runner, [`result_of`] in the agent.
//!
//! Invariant: if the runner was ended before it could leave a result, the result is built from the
//! exit record, and from the report if there is one.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use pxp::action::{PuppetCause, PuppetErrorType, PuppetResult};

use super::cause;
use super::report::{ParsedRunReport, ReportError};
use super::reported_reruns;
use crate::defaults::MAX_PUPPET_RESULT_BYTES;
use crate::process::ExitRecord;

const RESULT_FILE: &str = "puppet.json";

/// The path to which `puppet agent` writes its report; in a directory of its own, because Puppet
/// writes a temporary file beside it first.
pub(super) fn report_path(entry: &Path) -> PathBuf {
    entry.join("puppet").join("last_run_report.yaml")
}

/// Records a result; after that the report is no longer needed.
pub(super) fn write_result(
    entry: &Path,
    result: &PuppetResult,
) -> Result<(), pki::durable::DurableWriteError> {
    let bytes = serde_json::to_vec(result).expect("texts and numbers");
    pki::durable::write_atomic(&entry.join(RESULT_FILE), &bytes, 0o640)?;
    // Remaining files are removed with the entry.
    let _ = std::fs::remove_dir_all(entry.join("puppet"));
    Ok(())
}

/// The result of an action that has ended.
pub(crate) fn result_of(entry: &Path, exit: &ExitRecord, loss: Option<&str>) -> PuppetResult {
    let mut result = match read_result(entry) {
        Ok(Some(result)) => result,
        Ok(None) => early_end_result(entry, exit),
        Err(error) => PuppetResult::unknown().failed(
            PuppetErrorType::InvalidLastRunReport,
            PuppetCause::InvalidReport,
            format!("the result of the run cannot be read from the spool: {error}"),
        ),
    };
    result.cancelled = exit.cancelled;
    result.timed_out = exit.timed_out;
    if let (Some(loss), Some(error)) = (loss, &mut result.error) {
        *error = format!("{error} ({loss})");
    }
    result
}

/// The text that a status query returns as the action's stdout: the result in the form printed by
/// pxp-module-puppet.
pub(crate) fn status_text(result: &PuppetResult) -> String {
    serde_json::to_string(result).expect("texts and numbers")
}

fn read_result(entry: &Path) -> io::Result<Option<PuppetResult>> {
    let file = match File::open(entry.join(RESULT_FILE)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(MAX_PUPPET_RESULT_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(decode_errors::json::from_slice(&bytes)?))
}

/// The result of a run whose runner could not leave one.
fn early_end_result(entry: &Path, exit: &ExitRecord) -> PuppetResult {
    let report = ParsedRunReport::read_file(&report_path(entry));
    let is_told = report.is_ok();
    let mut result = report.map_or_else(|_| PuppetResult::unknown(), ParsedRunReport::into_result);
    result.reruns = reported_reruns::read(entry);
    result.exitcode = i64::from(exit.exitcode);
    result.signal = exit.signal;
    let (cause, text) = if exit.cancelled {
        (PuppetCause::Cancelled, "the run was stopped on request")
    } else if exit.timed_out {
        (
            PuppetCause::TimedOut,
            "the run was stopped because its time was up; allow it more, or find out what takes so \
             long",
        )
    } else if exit.signal.is_some() {
        (
            PuppetCause::Killed,
            "what supervised the run was ended from outside before it was over, and Puppet may still \
             be at work; look for who ended it (the kernel's log says so if memory ran out)",
        )
    } else if is_told {
        (
            PuppetCause::Other,
            "the run came to its end, and its result could not be recorded; what is known is from \
             its report, and its output says more",
        )
    } else {
        (
            PuppetCause::NoReport,
            "the result of the run could not be recorded; its output says more",
        )
    };
    result.failed(PuppetErrorType::AgentExitNonZero, cause, text)
}

/// The result of a run that left a report. `status` is that of `puppet agent`.
pub(super) fn read_report_result(entry: &Path, status: ExitStatus) -> PuppetResult {
    let report = ParsedRunReport::read_file(&report_path(entry));
    let code = status.code();
    let mut result = match report {
        Ok(report) => report.into_result(),
        Err(error) => {
            let text = format!(
                "the Puppet run left a report that cannot be used: {error}; its output says more"
            );
            let mut result = PuppetResult::unknown().failed(
                PuppetErrorType::InvalidLastRunReport,
                PuppetCause::InvalidReport,
                text,
            );
            result.exitcode = i64::from(code.unwrap_or(-1));
            result.detailed_exitcode = code.map(i64::from);
            return result;
        }
    };
    result.detailed_exitcode = code.map(i64::from);
    result.signal = status.signal();
    match (code, result.signal) {
        // All codes that `--detailed-exitcodes` gives for a completed run.
        (Some(0 | 2 | 4 | 6), _) => result,
        (_, Some(signal)) => {
            result.exitcode = i64::from(128 + signal);
            result.failed(
                PuppetErrorType::AgentExitNonZero,
                PuppetCause::Killed,
                format!(
                    "signal {signal} ended the Puppet run; look for who sent it, and run again"
                ),
            )
        }
        (code, None) => {
            result.exitcode = i64::from(code.unwrap_or(1));
            let cause = cause::classify_messages(result.errors.iter().map(String::as_str));
            let text = cause::explain(cause, &result.errors);
            result.failed(PuppetErrorType::AgentExitNonZero, cause, text)
        }
    }
}

/// The result of a run that left no report. `errors` is what it printed.
pub(super) fn build_without_report(status: ExitStatus, errors: Vec<String>) -> PuppetResult {
    let mut result = PuppetResult::unknown();
    result.detailed_exitcode = status.code().map(i64::from);
    result.signal = status.signal();
    let (error_type, cause, text) = match (status.code(), result.signal) {
        (Some(code @ (0 | 2 | 4 | 6)), _) => {
            result.exitcode = 0;
            // Other codes prove a change or a failure; 0 proves nothing.
            if code != 0 {
                let status = if code == 2 { "changed" } else { "failed" };
                status.clone_into(&mut result.status);
            }
            let text = format!(
                "Puppet said with exit code {code} that it made a run, and left no report of it; \
                 its output says more, and `report = true` in puppet.conf makes it leave one"
            );
            (
                PuppetErrorType::NoLastRunReport,
                PuppetCause::NoReport,
                text,
            )
        }
        (_, Some(signal)) => {
            result.exitcode = i64::from(128 + signal);
            let text = format!(
                "signal {signal} ended the Puppet run; look for who sent it, and run again"
            );
            (PuppetErrorType::AgentExitNonZero, PuppetCause::Killed, text)
        }
        (code, None) => {
            result.exitcode = i64::from(code.unwrap_or(1));
            let cause = cause::classify_messages(errors.iter().map(String::as_str));
            let text = cause::explain(cause, &errors);
            (PuppetErrorType::AgentExitNonZero, cause, text)
        }
    };
    result.errors = errors;
    result.failed(error_type, cause, text)
}

impl ParsedRunReport {
    /// Reads a report of this run.
    fn read_file(path: &Path) -> Result<Self, ReportError> {
        Self::read(File::open(path).map_err(ReportError::Io)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_could_not_be_recorded_is_no_killed_run() {
        let dir = tempfile::tempdir().unwrap();
        let exit = ExitRecord::not_run(1, None);
        let loss = Some("the spool is full");
        let result = result_of(dir.path(), &exit, loss);
        assert_eq!(result.cause, Some(PuppetCause::NoReport));
        assert!(result.error.unwrap().ends_with("(the spool is full)"));

        std::fs::create_dir(dir.path().join("puppet")).unwrap();
        std::fs::write(
            report_path(dir.path()),
            "status: changed\ntransaction_uuid: x\n",
        )
        .unwrap();
        let result = result_of(dir.path(), &exit, None);
        assert_eq!(result.cause, Some(PuppetCause::Other));
        assert_eq!((result.status.as_str(), result.exitcode), ("changed", 1));
    }

    #[test]
    fn a_damaged_result_is_said_to_be_one() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(RESULT_FILE), "{\"kind\":").unwrap();
        let result = result_of(dir.path(), &ExitRecord::not_run(0, None), None);
        assert_eq!(result.cause, Some(PuppetCause::InvalidReport));
    }

    #[test]
    fn a_result_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        let left = PuppetResult::unknown().failed(
            PuppetErrorType::AgentDisabled,
            PuppetCause::Disabled,
            "why",
        );
        write_result(dir.path(), &left).unwrap();
        assert_eq!(
            result_of(dir.path(), &ExitRecord::not_run(1, None), None),
            left
        );
    }
}
