//! Results of commands and scripts, in Bolt's form: `stdout`, `stderr`, `merged_output`,
//! `exit_code`, and an error if it failed.
//!
//! Invariant: the outcome is read from the agent's report on the process; if a task ran instead,
//! from that task's result.

use pxp::action::ActionResult;
use serde_json::{Map, Value, json};

use crate::outcome::{self, OutcomeContext, RunOutcome};
use crate::state::RunState;

/// The kind of a program's own failure.
const KIND_COMMAND: &str = "puppetlabs.tasks/command-error";

/// Shapes the result of a module of the agent.
pub(crate) fn shape(outcome: &ActionResult, known: OutcomeContext) -> RunOutcome {
    let stdout = outcome.stdout.as_deref().unwrap_or_default();
    if outcome.exitcode != 0 && outcome::is_agent_error(stdout) {
        return outcome::shape(outcome, known, None);
    }
    let exit_code = outcome::exit_code(outcome, known);
    let stderr = outcome.stderr.as_deref().unwrap_or_default();
    let mut result = Map::from_iter([
        ("stdout".to_owned(), Value::from(stdout)),
        ("stderr".to_owned(), Value::from(stderr)),
        (
            "merged_output".to_owned(),
            Value::from(format!("{stdout}{stderr}")),
        ),
        ("exit_code".to_owned(), Value::from(exit_code)),
    ]);
    if let Some(info) = outcome::output_info(outcome, false, known) {
        result.insert("_output_info".to_owned(), info);
    }
    let state = outcome::process_state(outcome, exit_code, known);
    let mut message = String::new();
    if state != RunState::Finished {
        let error = match outcome.cancelled || outcome.timed_out {
            true => outcome::error(outcome, exit_code, stderr, stdout.is_empty(), known),
            false => failure_error(exit_code, outcome::not_executed_reason(outcome, known)),
        };
        result.insert("_error".to_owned(), error);
        message = outcome::result_message(&result);
    }
    RunOutcome {
        state,
        result: Value::Object(result).to_string(),
        details: outcome::details(outcome, exit_code, stderr).to_string(),
        message,
        event_detail: None,
        sealed: None,
    }
}

/// Shapes the result of the task that replaces the module: such a task succeeds if it could run the
/// program, whatever the program's exit code.
pub(crate) fn shape_task(outcome: &ActionResult, known: OutcomeContext) -> RunOutcome {
    let stdout = outcome.stdout.as_deref().unwrap_or_default();
    let told: Value = serde_json::from_str(stdout).unwrap_or_default();
    let exitcode = told["exit_code"].as_i64();
    let Some(exitcode) = exitcode.filter(|_| outcome.exitcode == 0) else {
        return outcome::shape(outcome, known, None);
    };
    let text = |key: &str| told[key].as_str().map(str::to_owned);
    let program = ActionResult {
        exitcode,
        stdout: text("stdout"),
        stderr: text("stderr"),
        ..ActionResult::default()
    };
    let known = OutcomeContext {
        stock_agent: false,
        ..known
    };
    shape(&program, known)
}

fn failure_error(exit_code: i64, reason: Option<&str>) -> Value {
    let message = format!("The command failed with exit code {exit_code}");
    json!({
        "kind": KIND_COMMAND,
        "issue_code": "COMMAND_ERROR",
        "msg": match reason {
            Some(reason) => format!("{message}; {reason}"),
            None => message,
        },
        "details": {"exit_code": exit_code},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_flight::CancelReason;

    const KNOWN: OutcomeContext = OutcomeContext {
        stock_agent: false,
        cancelling: None,
        timeout_seconds: 60,
        has_replaced_bytes: false,
    };

    fn outcome(json: Value) -> ActionResult {
        serde_json::from_value(json).unwrap()
    }

    fn read(shaped: &RunOutcome) -> (RunState, Value) {
        (shaped.state, serde_json::from_str(&shaped.result).unwrap())
    }

    #[test]
    fn a_program_has_bolts_form_and_one_that_failed_an_error() {
        let ended = outcome(json!({"exitcode": 0, "stdout": "{\"_error\": 1}", "stderr": "b"}));
        let expected = json!({
            "stdout": "{\"_error\": 1}", "stderr": "b", "merged_output": "{\"_error\": 1}b",
            "exit_code": 0,
        });
        assert_eq!(read(&shape(&ended, KNOWN)), (RunState::Finished, expected));

        let failed = shape(&outcome(json!({"exitcode": 3, "stderr": "no"})), KNOWN);
        let (state, result) = read(&failed);
        assert_eq!(state, RunState::Failed);
        let error = json!({
            "kind": "puppetlabs.tasks/command-error", "issue_code": "COMMAND_ERROR",
            "msg": "The command failed with exit code 3", "details": {"exit_code": 3},
        });
        assert_eq!(result["_error"], error);
        assert_eq!(failed.message, "The command failed with exit code 3");
    }

    #[test]
    fn one_that_was_ended_says_who_ended_it() {
        let known = OutcomeContext {
            cancelling: Some(CancelReason::Timeout),
            ..KNOWN
        };
        let ended = json!({"exitcode": 143, "signal": 15, "cancelled": true, "stdout": "half"});
        let (state, result) = read(&shape(&outcome(ended), known));
        assert_eq!(state, RunState::Errored);
        assert_eq!(result["_error"]["kind"], "tutti/timeout");
        assert_eq!(result["stdout"], "half");
    }

    #[test]
    fn a_stock_agents_exit_codes_are_mended_and_its_own_words_are_no_output() {
        let stock = OutcomeContext {
            stock_agent: true,
            ..KNOWN
        };
        let (_, result) = read(&shape(&outcome(json!({"exitcode": -1})), stock));
        assert_eq!(result["exit_code"], 255);
        let words =
            json!({"_error": {"kind": "puppetlabs.pxp-agent/execution-error", "msg": "no"}});
        let told = json!({"exitcode": 1, "stdout": words.to_string()});
        let (state, result) = read(&shape(&outcome(told), stock));
        assert_eq!((state, result), (RunState::Errored, words));
    }

    #[test]
    fn the_task_in_its_place_gives_the_same() {
        let program = json!({"stdout": "a", "stderr": "b", "exit_code": 3});
        let told = outcome(json!({"exitcode": 0, "stdout": program.to_string()}));
        let native = outcome(json!({"exitcode": 3, "stdout": "a", "stderr": "b"}));
        assert_eq!(
            read(&shape_task(&told, KNOWN)),
            read(&shape(&native, KNOWN))
        );
        let lost = outcome(json!({"exitcode": 127, "stderr": "python3: not found"}));
        let (state, result) = read(&shape_task(&lost, KNOWN));
        assert_eq!(state, RunState::Failed);
        assert_eq!(result["_error"]["kind"], "puppetlabs.tasks/task-error");
    }
}
