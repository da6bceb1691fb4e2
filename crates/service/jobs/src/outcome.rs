//! Results of actions, in the shape that clients of the orchestrator know.
//!
//! [`shape`] turns an agent's result into a state and the JSON of `jobs/:id/nodes`. Invariant:
//! nothing that the agent reported is hidden (exit code, signal, truncation, bytes that are not
//! text), except values that the task itself marked as `_sensitive`: they leave this module sealed,
//! or not at all.

use pki::seal::SealKey;
use pxp::action::ActionResult;
use pxp::task::SensitiveScan;
use serde_json::{Map, Value, json};

use crate::defaults::DETAILS_STDERR_BYTES;
use crate::in_flight::CancelReason;
use crate::state::RunState;
use crate::verdict::{KIND_STOPPED, KIND_TIMEOUT, clip};

/// Text shown in place of a secret.
pub const REDACTED: &str = "Sensitive [value redacted]";

/// The key under which a task returns a secret.
pub const SENSITIVE: &str = pxp::task::SENSITIVE_KEY;

/// The error kind of a task's own failure.
pub const KIND_TASK: &str = "puppetlabs.tasks/task-error";

/// The issue code that Bolt gives such a failure.
const ISSUE_TASK: &str = "TASK_ERROR";

/// The error kind that marks an agent's own message about an action in its status answers.
const KIND_AGENT: &str = "puppetlabs.pxp-agent/execution-error";

/// The end of a run as it is stored and shown.
#[derive(Debug)]
pub(crate) struct RunOutcome {
    pub(crate) state: RunState,
    /// The result, as JSON.
    pub(crate) result: String,
    /// The node's details, as JSON.
    pub(crate) details: String,
    /// Reason of a failure; empty if the run succeeded.
    pub(crate) message: String,
    /// Details of the event for programs, if they are more than the message.
    pub(crate) event_detail: Option<Value>,
    /// The value that the task marked as `_sensitive`: JSON, sealed. `None`: there is none, or it
    /// is not kept.
    pub(crate) sealed: Option<Vec<u8>>,
}

/// Facts that the engine knows beside the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutcomeContext {
    /// A stock pxp-agent: its exit codes pass through a signed byte.
    pub(crate) stock_agent: bool,
    /// The agent had been asked to cancel the action.
    pub(crate) cancelling: Option<CancelReason>,
    pub(crate) timeout_seconds: u64,
    /// True if bytes that are not UTF-8 were replaced in the message; see [`pcp::Message`].
    pub(crate) has_replaced_bytes: bool,
}

/// Shapes a result. With the key, the value that the task marked as sensitive is kept, sealed.
pub(crate) fn shape(
    outcome: &ActionResult,
    known: OutcomeContext,
    keep: Option<&SealKey>,
) -> RunOutcome {
    let exit_code = exit_code(outcome, known);
    let stdout = outcome.stdout.as_deref().unwrap_or_default();
    let stderr = outcome.stderr.as_deref().unwrap_or_default();
    let mut result = task_output(stdout);
    let secret = result.get_mut(SENSITIVE);
    let secret = secret.map(|secret| std::mem::replace(secret, Value::from(REDACTED)));
    let withheld = secret.is_none() && withhold_secret(&mut result);
    if let Some(info) = output_info(outcome, secret.is_some() || withheld, known) {
        result.insert("_output_info".to_owned(), info);
    }
    let cancelled = outcome.cancelled;
    let state = match process_state(outcome, exit_code, known) {
        ended if cancelled || outcome.timed_out => ended,
        // The agent's own error, not the task's: it could not run the task, or not read its output.
        _ if result
            .get("_error")
            .is_some_and(|error| error["kind"] == KIND_AGENT) =>
        {
            RunState::Errored
        }
        // A task may report its failure by `_error` alone; Bolt counts that as failed, too.
        RunState::Finished if result.contains_key("_error") => RunState::Failed,
        ended => ended,
    };
    let is_own_error = result.contains_key("_error") && !cancelled;
    if state != RunState::Finished && !is_own_error {
        let error = error(outcome, exit_code, stderr, stdout.is_empty(), known);
        result.insert("_error".to_owned(), error);
    }
    let message = match state {
        RunState::Finished => String::new(),
        _ if is_own_error => result_message(&result),
        _ => with_stderr(result_message(&result), stderr),
    };
    RunOutcome {
        state,
        result: Value::Object(result).to_string(),
        details: details(outcome, exit_code, stderr).to_string(),
        message,
        event_detail: None,
        sealed: seal(secret.as_ref(), keep),
    }
}

fn seal(secret: Option<&Value>, keep: Option<&SealKey>) -> Option<Vec<u8>> {
    let (secret, key) = secret.zip(keep)?;
    Some(key.seal(secret.to_string().as_bytes()))
}

/// The shape of a result that is not an action's; the agent's message replaces it.
pub(crate) fn shape_unreadable(problem: &str) -> RunOutcome {
    let message = format!("the agent's result could not be read: {}", clip(problem));
    let error = json!({"kind": KIND_TASK, "msg": message, "details": {}});
    RunOutcome {
        state: RunState::Failed,
        result: json!({ "_error": error }).to_string(),
        details: "{}".to_owned(),
        message,
        event_detail: None,
        sealed: None,
    }
}

/// The state of a run, judged by its process alone.
pub(crate) fn process_state(
    outcome: &ActionResult,
    exit_code: i64,
    known: OutcomeContext,
) -> RunState {
    let timed_out = outcome.cancelled && known.cancelling == Some(CancelReason::Timeout);
    match () {
        () if timed_out || outcome.timed_out => RunState::Errored,
        () if outcome.cancelled || exit_code != 0 => RunState::Failed,
        () => RunState::Finished,
    }
}

/// True if this is the agent's own error about an action rather than the action's output.
pub(crate) fn is_agent_error(stdout: &str) -> bool {
    agent_error(stdout).is_some()
}

/// The agent's error in place of an action's output, as in status answers.
pub(crate) fn agent_error(stdout: &str) -> Option<String> {
    let error = task_output(stdout).remove("_error")?;
    (error["kind"] == KIND_AGENT).then(|| error["msg"].as_str().unwrap_or_default().to_owned())
}

fn task_output(stdout: &str) -> Map<String, Value> {
    // Cheap refusal first: most plain output does not begin like an object.
    let object = if stdout.trim_start().starts_with('{') {
        serde_json::from_str::<Map<String, Value>>(stdout).ok()
    } else {
        None
    };
    object.unwrap_or_else(|| Map::from_iter([("_output".to_owned(), Value::from(stdout))]))
}

/// Removes everything after the key of a secret from output that is not a valid result: it may have
/// been truncated, or have other text before it. Returns true if there was a secret.
fn withhold_secret(result: &mut Map<String, Value>) -> bool {
    let Some(Value::String(output)) = result.get_mut("_output") else {
        return false;
    };
    let Some(end) = SensitiveScan::shown_length(output.as_bytes()) else {
        return false;
    };
    output.truncate(end);
    output.push_str(": ");
    output.push_str(REDACTED);
    true
}

/// Exit codes 128 to 255 of a stock agent arrive as -128 to -1.
pub(crate) fn exit_code(outcome: &ActionResult, known: OutcomeContext) -> i64 {
    match outcome.exitcode {
        code @ -128..0 if known.stock_agent => code + 256,
        code => code,
    }
}

/// Information about the output; if it contains a secret, its raw bytes are left out.
pub(crate) fn output_info(
    outcome: &ActionResult,
    has_secret: bool,
    known: OutcomeContext,
) -> Option<Value> {
    let mut info = Map::new();
    if outcome.stdout_truncated {
        info.insert("truncated".to_owned(), Value::from(true));
        info.insert("bytes".to_owned(), json!(outcome.stdout_bytes));
    }
    if let Some(base64) = &outcome.stdout_base64 {
        info.insert("encoding".to_owned(), Value::from("binary"));
        if !has_secret {
            info.insert("base64".to_owned(), Value::from(base64.as_str()));
        }
    }
    if known.has_replaced_bytes {
        info.insert("replaced_bytes".to_owned(), Value::from(true));
    }
    (!info.is_empty()).then_some(Value::Object(info))
}

pub(crate) fn error(
    outcome: &ActionResult,
    exit_code: i64,
    stderr: &str,
    silent: bool,
    known: OutcomeContext,
) -> Value {
    let mut details = Map::from_iter([("exit_code".to_owned(), Value::from(exit_code))]);
    if let Some(signal) = outcome.signal {
        details.insert("signal".to_owned(), Value::from(signal));
    }
    let cancelled = outcome.cancelled;
    let (kind, msg) = match known.cancelling {
        Some(CancelReason::Timeout) if cancelled => (
            KIND_TIMEOUT,
            format!(
                "the time limit of {} s passed and the task was ended",
                known.timeout_seconds
            ),
        ),
        _ if outcome.timed_out => (
            KIND_TIMEOUT,
            "the agent's time limit passed and the task was ended".to_owned(),
        ),
        _ if cancelled => (
            KIND_STOPPED,
            "the job was stopped and the task was ended".to_owned(),
        ),
        _ => {
            let mut message = task_message(outcome, exit_code, stderr, silent);
            if let Some(reason) = not_executed_reason(outcome, known) {
                message = format!("{message}; {reason}");
            }
            (KIND_TASK, message)
        }
    };
    let mut error = json!({"kind": kind, "msg": msg, "details": details});
    if kind == KIND_TASK {
        error["issue_code"] = Value::from(ISSUE_TASK);
    }
    error
}

/// The reason why a stock agent may not have executed the file at all: it reports only the number
/// of the system's error, as the exit code of an action without output. 13 is also SIGPIPE, which
/// ends the wrapper of a pxp-agent while the wrapper writes to a task that does not read.
pub(crate) fn not_executed_reason(
    outcome: &ActionResult,
    known: OutcomeContext,
) -> Option<&'static str> {
    let is_silent = |text: &Option<String>| text.as_deref().unwrap_or_default().is_empty();
    if !known.stock_agent || !is_silent(&outcome.stdout) || !is_silent(&outcome.stderr) {
        return None;
    }
    match outcome.exitcode {
        2 => Some(
            "a pxp-agent ends a file so whose interpreter is not on the node: look at its first line (`#!`), which \
             may also end with a carriage return of Windows; install the interpreter, or give the task an \
             implementation for nodes without it",
        ),
        7 => Some(
            "a pxp-agent ends a file so whose parameters do not fit into its environment, which takes less than 128 KiB \
             of each: set `input_method` to `stdin`",
        ),
        8 => Some(
            "a pxp-agent ends a file so that has no first line with an interpreter (`#!/bin/sh`), or is a program for \
             another kind of machine",
        ),
        13 => Some(
            "a pxp-agent ends a file so that its user may not execute: look at the mode of its interpreter, and \
             whether the agent's directories are mounted with `noexec`; a task that did not read its standard \
             input ends so too, where SIGPIPE is not ignored as in a service of systemd, and then it ran or still \
             runs: look at the node before running it again, and set `input_method` to `environment`",
        ),
        _ => None,
    }
}

/// The error message in Bolt's wording, since programs and plans match it.
fn task_message(outcome: &ActionResult, exit_code: i64, stderr: &str, silent: bool) -> String {
    let how = match outcome.signal {
        Some(signal) => format!("The task was ended by signal {signal}"),
        None => format!("The task failed with exit code {exit_code}"),
    };
    match (silent, clip(stderr)) {
        (false, _) => how,
        (true, "") => format!("{how} and no output"),
        (true, words) => format!("{how} and no stdout, but stderr contained:\n{words}"),
    }
}

/// The message for users, who also see standard error if the error does not include it.
fn with_stderr(message: String, stderr: &str) -> String {
    match clip(stderr.trim()) {
        "" => message,
        words if message.contains(words) => message,
        words => clip(&format!("{message}; its standard error says: {words}")).to_owned(),
    }
}

pub(crate) fn result_message(result: &Map<String, Value>) -> String {
    let words = result
        .get("_error")
        .and_then(|error| error.get("msg"))
        .and_then(Value::as_str);
    clip(words.unwrap_or("the task reported an error without a message")).to_owned()
}

pub(crate) fn details(outcome: &ActionResult, exit_code: i64, stderr: &str) -> Value {
    let mut details = Map::from_iter([("exit_code".to_owned(), Value::from(exit_code))]);
    if !stderr.is_empty() {
        let kept = &stderr[..stderr.floor_char_boundary(DETAILS_STDERR_BYTES)];
        details.insert("stderr".to_owned(), Value::from(kept));
        if kept.len() < stderr.len() || outcome.stderr_truncated {
            let bytes = outcome.stderr_bytes.unwrap_or(stderr.len() as u64);
            details.insert("stderr_bytes".to_owned(), Value::from(bytes));
        }
    }
    Value::Object(details)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: OutcomeContext = OutcomeContext {
        stock_agent: false,
        cancelling: None,
        timeout_seconds: 60,
        has_replaced_bytes: false,
    };

    fn outcome(json: Value) -> ActionResult {
        serde_json::from_value(json).unwrap()
    }

    fn shaped(json: Value) -> (RunState, Value, Value) {
        read(&shape(&outcome(json), KNOWN, None))
    }

    fn read(shaped: &RunOutcome) -> (RunState, Value, Value) {
        let json = |text: &str| serde_json::from_str(text).unwrap();
        (shaped.state, json(&shaped.result), json(&shaped.details))
    }

    #[test]
    fn a_silent_exit_code_of_a_stock_agent_names_what_the_file_lacks() {
        let stock = OutcomeContext {
            stock_agent: true,
            ..KNOWN
        };
        let told = |json: Value, known| {
            let outcome: ActionResult = serde_json::from_value(json).unwrap();
            shape(&outcome, known, None).message
        };
        for (code, expected) in [
            (2, "interpreter is not on the node"),
            (7, "`input_method` to `stdin`"),
            (8, "#!/bin/sh"),
            (13, "noexec"),
            (13, "did not read its standard input"),
            (13, "ran or still runs"),
        ] {
            let silent = told(json!({"exitcode": code}), stock);
            let bolts = format!("The task failed with exit code {code} and no output; ");
            assert!(
                silent.starts_with(&bolts) && silent.contains(expected),
                "{silent}"
            );
            let ours = told(json!({"exitcode": code}), KNOWN);
            assert!(!ours.contains("pxp-agent"), "{ours}");
            let spoken = told(json!({"exitcode": code, "stderr": "no"}), stock);
            assert!(!spoken.contains("pxp-agent"), "{spoken}");
        }
    }

    #[test]
    fn an_object_is_the_result_and_other_text_is_its_output() {
        let (state, result, _) = shaped(json!({"exitcode": 0, "stdout": " {\"a\": [1, 2]}\n"}));
        assert_eq!((state, result), (RunState::Finished, json!({"a": [1, 2]})));
        for text in ["hello\n", "[1]", "{broken", "", "{\"a\":1} trailing"] {
            let (state, result, _) = shaped(json!({"exitcode": 0, "stdout": text}));
            assert_eq!(
                (state, result),
                (RunState::Finished, json!({"_output": text}))
            );
        }
    }

    #[test]
    fn a_failure_tells_its_exit_code_its_output_and_its_standard_error() {
        let (state, result, details) =
            shaped(json!({"exitcode": 3, "stdout": "half", "stderr": "no such package\n"}));
        assert_eq!(state, RunState::Failed);
        assert_eq!(result["_output"], "half");
        let error = &result["_error"];
        assert_eq!(error["kind"], KIND_TASK);
        assert_eq!(error["details"], json!({"exit_code": 3}));
        assert_eq!(error["msg"], "The task failed with exit code 3");
        assert_eq!(error["issue_code"], "TASK_ERROR");
        assert_eq!(
            details,
            json!({"exit_code": 3, "stderr": "no such package\n"})
        );
    }

    #[test]
    fn a_tasks_own_error_is_kept_and_counts_as_failure() {
        let own = json!({"_error": {"kind": "mine/x", "msg": "no", "details": {}}});
        let (state, result, _) = shaped(json!({"exitcode": 0, "stdout": own.to_string()}));
        assert_eq!((state, result), (RunState::Failed, own));
    }

    #[test]
    fn a_signal_is_named() {
        let (_, result, _) = shaped(json!({"exitcode": 137, "signal": 9}));
        assert_eq!(
            result["_error"]["details"],
            json!({"exit_code": 137, "signal": 9})
        );
        assert!(
            result["_error"]["msg"]
                .as_str()
                .unwrap()
                .contains("signal 9")
        );
    }

    #[test]
    fn exit_codes_of_a_stock_agent_are_mended() {
        let stock = OutcomeContext {
            stock_agent: true,
            ..KNOWN
        };
        for (sent, meant) in [(-1, 255), (-128, 128), (127, 127)] {
            let (_, result, _) = read(&shape(&outcome(json!({"exitcode": sent})), stock, None));
            assert_eq!(result["_error"]["details"]["exit_code"], meant);
        }
    }

    #[test]
    fn what_a_task_marks_as_sensitive_is_not_kept() {
        let stdout = json!({"user": "x", "_sensitive": {"password": "hunter2"}}).to_string();
        let (_, result, _) = shaped(json!({"exitcode": 0, "stdout": stdout}));
        assert_eq!(result, json!({"user": "x", "_sensitive": REDACTED}));
    }

    #[test]
    fn a_secret_in_output_that_cannot_be_read_as_a_result_is_not_kept() {
        let whole = json!({"user": "x", "_sensitive": {"password": "hunter2"}}).to_string();
        for stdout in [
            whole[..whole.len() - 3].to_owned(),
            format!("about to begin\n{whole}"),
            format!("{whole} done"),
        ] {
            let base64 = "aHVudGVyMg==";
            let shaped = shape(
                &outcome(json!({"exitcode": 1, "stdout": stdout, "stdout_base64": base64})),
                KNOWN,
                None,
            );
            let shown = format!("{} {} {}", shaped.result, shaped.details, shaped.message);
            assert!(shown.contains(REDACTED), "{shown}");
            assert!(
                !shown.contains("hunter2") && !shown.contains(base64),
                "{shown}"
            );
        }
    }

    #[test]
    fn what_a_task_marks_as_sensitive_is_sealed_for_who_may_have_it() {
        let dir = tempfile::tempdir().unwrap();
        let key = SealKey::open_or_create(&dir.path().join("seal")).unwrap();
        let secret = json!({"password": "hunter2"});
        let stdout = json!({"user": "x", "_sensitive": secret}).to_string();
        let ended = outcome(json!({"exitcode": 0, "stdout": stdout}));
        let shaped = shape(&ended, KNOWN, Some(&key));
        assert!(!format!("{shaped:?}").contains("hunter2"));
        let opened = key.open(&shaped.sealed.unwrap()).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&opened).unwrap(), secret);
        assert_eq!(shape(&ended, KNOWN, None).sealed, None);
        let open = outcome(json!({"exitcode": 0, "stdout": "{}"}));
        assert_eq!(shape(&open, KNOWN, Some(&key)).sealed, None);
    }

    #[test]
    fn the_raw_bytes_of_an_output_with_a_secret_are_kept_back() {
        let stdout = json!({"user": "\u{fffd}", "_sensitive": "hunter2"}).to_string();
        let (_, result, _) =
            shaped(json!({"exitcode": 0, "stdout": stdout, "stdout_base64": "aHVudGVyMg=="}));
        let info = json!({"encoding": "binary"});
        let expected = json!({"user": "\u{fffd}", "_sensitive": REDACTED, "_output_info": info});
        assert_eq!(result, expected);
    }

    #[test]
    fn cuts_and_bytes_that_are_no_text_are_said() {
        let (_, result, _) = shaped(json!({
            "exitcode": 0, "stdout": "abc", "stdout_truncated": true, "stdout_bytes": 70_000_000,
        }));
        assert_eq!(
            result["_output_info"],
            json!({"truncated": true, "bytes": 70_000_000})
        );
        let (_, result, _) =
            shaped(json!({"exitcode": 0, "stdout": "\u{fffd}", "stdout_base64": "/w=="}));
        assert_eq!(
            result["_output_info"],
            json!({"encoding": "binary", "base64": "/w=="})
        );
    }

    #[test]
    fn an_ended_action_says_who_ended_it() {
        let cancelled = json!({"exitcode": 143, "signal": 15, "cancelled": true, "stdout": "half"});
        let after = |reason| OutcomeContext {
            cancelling: Some(reason),
            ..KNOWN
        };
        let timeout = shape(
            &outcome(cancelled.clone()),
            after(CancelReason::Timeout),
            None,
        );
        let (state, result, _) = read(&timeout);
        assert_eq!(
            (state, &result["_error"]["kind"]),
            (RunState::Errored, &KIND_TIMEOUT.into())
        );
        assert_eq!(result["_output"], "half");
        assert!(
            !crate::verdict::is_given_up_result(&timeout.result),
            "its end is known"
        );

        let (state, result, _) = read(&shape(&outcome(cancelled), after(CancelReason::Stop), None));
        assert_eq!(
            (state, &result["_error"]["kind"]),
            (RunState::Failed, &KIND_STOPPED.into())
        );
    }

    #[test]
    fn an_action_that_ended_before_the_cancel_reached_it_keeps_its_outcome() {
        let known = OutcomeContext {
            cancelling: Some(CancelReason::Timeout),
            ..KNOWN
        };
        let (state, result, _) = read(&shape(&outcome(json!({"exitcode": 0})), known, None));
        assert_eq!(
            (state, result),
            (RunState::Finished, json!({"_output": ""}))
        );
    }

    #[test]
    fn what_the_agent_could_not_run_is_errored_and_not_the_tasks_failure() {
        let stdout = json!({"_error": {"kind": KIND_AGENT, "msg": "did not run"}}).to_string();
        let (state, result, _) = shaped(json!({"exitcode": 1, "stdout": stdout}));
        assert_eq!(state, RunState::Errored);
        assert_eq!(result["_error"]["msg"], "did not run");
    }

    #[test]
    fn long_standard_error_is_cut_and_its_true_size_said() {
        let stderr = "x".repeat(DETAILS_STDERR_BYTES + 1);
        let (_, _, details) = shaped(json!({"exitcode": 0, "stderr": stderr}));
        assert_eq!(
            details["stderr"].as_str().unwrap().len(),
            DETAILS_STDERR_BYTES
        );
        assert_eq!(details["stderr_bytes"], DETAILS_STDERR_BYTES + 1);
    }
}
