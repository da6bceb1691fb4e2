//! The events of jobs and runs, in one place: types, details and messages.
//!
//! The rule: type and node are a contract with clients; the wording of messages is not.

use std::time::Duration;

use pcp::Certname;
use serde_json::{Map, Value, json};
use store::{JobChange, JobNumber, NewEvent};
use uuid::Uuid;

use crate::kind::Kind;
use crate::over_ssh::Via;
use crate::puppet::held_back;
use crate::state::{JobState, RunState};
use crate::verdict::{AwaySince, clip};

/// The run of a node was given up and its real outcome came afterwards. The one event that may
/// stand behind a job's last.
pub const NODE_LATE_OUTCOME: &str = "node_late_outcome";

/// A node's agent has no module for what the job does, and gets a task in its place.
pub(crate) const NODE_AS_TASK: &str = "node_as_task";

/// The key of a run's details that says how its node was reached.
const TRANSPORT: &str = "transport";
const SSH: &str = "ssh";

/// The key of a run's details that says until when its silent node is waited for.
const SILENT_UNTIL: &str = "silent_until_ms";

/// The node of a run in flight is not connected.
pub(crate) const NODE_DISCONNECTED: &str = "node_disconnected";

/// Type of the event for a node that is connected again while a run of it waits.
pub(crate) const NODE_RECONNECTED: &str = "node_reconnected";

/// `seconds`: how long it may stay away.
pub(crate) fn node_away(node: &Certname, since: AwaySince, seconds: u64, at_ms: i64) -> NewEvent {
    let text = format!(
        "{node} is {since}. The run is not over: the action may be running there, and its outcome \
         is taken when the node is back. Without a sign of it for {seconds} s the run is given up"
    );
    let detail = json!({"since": since.timestamp().to_string(), "message": text});
    of_node(node, NODE_DISCONNECTED, at_ms, &detail, text)
}

pub(crate) fn node_back(node: &Certname, at_ms: i64) -> NewEvent {
    let text = format!("{node} is connected again; its agent is asked how the run goes");
    of_node(node, NODE_RECONNECTED, at_ms, &json!({}), text)
}

pub(crate) fn running(kind: Kind, node: &Certname, noop: bool, at_ms: i64) -> NewEvent {
    let text = match kind {
        Kind::Puppet => format!("Started puppet run on {node} ..."),
        _ => format!("Started on {node} ..."),
    };
    let detail = json!({"noop": noop});
    of_node(node, "node_running", at_ms, &detail, text)
}

/// `message` says why, for the states that need a reason; `told` is what programs are told instead
/// of the message alone.
pub(crate) fn ended(
    of: Kind,
    node: &Certname,
    state: RunState,
    message: &str,
    told: Option<Value>,
    at_ms: i64,
) -> NewEvent {
    let puppet = of == Kind::Puppet;
    let (kind, text) = match state {
        RunState::Finished if puppet => {
            let held_back = told.as_ref().and_then(Value::as_object).and_then(held_back);
            let held_back = held_back.map_or_else(String::new, |words| format!(" {words}"));
            let text = format!("Finished puppet run on {node} - Success!{held_back}");
            ("node_finished", text)
        }
        RunState::Finished => ("node_finished", format!("Finished on {node}")),
        RunState::Failed if puppet => (
            "node_failed",
            format!("Finished puppet run on {node} - Failure! {message}"),
        ),
        RunState::Failed => ("node_failed", format!("Failed on {node}: {message}")),
        RunState::Skipped => ("node_skipped", format!("Skipped {node}: {message}")),
        _ if puppet => (
            "node_errored",
            format!("Error running puppet on {node}: {message}"),
        ),
        _ => (
            "node_errored",
            format!("Error running on {node}: {message}"),
        ),
    };
    let detail = told.unwrap_or_else(|| match state {
        RunState::Finished => json!({}),
        RunState::Skipped => json!({"reason": message}),
        _ => json!({"message": message}),
    });
    of_node(node, kind, at_ms, &detail, text)
}

/// `words` are the agent's.
pub(crate) fn as_task(node: &Certname, task: &str, words: &str, at_ms: i64) -> NewEvent {
    let words = clip(words);
    let detail = json!({"task": task, "message": words});
    let text =
        format!("The agent of {node} cannot do it ({words}); it gets the task {task} instead");
    of_node(node, NODE_AS_TASK, at_ms, &detail, text)
}

/// `told` says in words how it ended; `result` is the outcome in the shape of a run's result, unless it is too large for an event.
pub(crate) fn late_outcome(
    node: &Certname,
    exit_code: Option<i64>,
    told: &str,
    result: Option<Value>,
    at_ms: i64,
) -> NewEvent {
    let detail = json!({"exit_code": exit_code, "message": told, "result": result});
    let text = format!("The outcome on {node} came after the run was given up: {told}");
    of_node(node, NODE_LATE_OUTCOME, at_ms, &detail, text)
}

pub(crate) fn stopping(at_ms: i64) -> NewEvent {
    of_job(
        "job_stopping",
        at_ms,
        &json!({}),
        "Stopping the job ...".to_owned(),
    )
}

/// `kind` is `job_finished` or `job_aborted`.
pub(crate) fn job_ended(kind: &str, state: JobState, at_ms: i64) -> NewEvent {
    of_job(
        kind,
        at_ms,
        &json!({"state": state.as_str()}),
        format!("The job is over: {state}"),
    )
}

pub(crate) fn job_change(
    job: JobNumber,
    state: JobState,
    at_ms: i64,
    event: Option<NewEvent>,
) -> JobChange {
    JobChange {
        job,
        to_state: state.as_str().to_owned(),
        at_ms,
        duration_ms: None,
        event,
    }
}

/// What a marked run remembers of its agent, for the engine that may come after a crash.
pub(crate) fn mark_details(spool_id: Option<Uuid>, via: Via) -> String {
    let details = match spool_id {
        Some(spool_id) => json!({ "spool_id": spool_id }).to_string(),
        None => "{}".to_owned(),
    };
    details_via(details, via)
}

/// The details of [`mark_details`], and until when (in milliseconds since the epoch) the node, which
/// is silent, is waited for.
pub(crate) fn silent_details(spool_id: Option<Uuid>, via: Via, until_ms: Option<i64>) -> String {
    let details = mark_details(spool_id, via);
    let Some(until_ms) = until_ms else {
        return details;
    };
    let mut known: Map<String, Value> = serde_json::from_str(&details).unwrap_or_default();
    known.insert(SILENT_UNTIL.to_owned(), Value::from(until_ms));
    Value::Object(known).to_string()
}

/// Reads what [`silent_details`] wrote.
pub(crate) fn silent_until(details: &str) -> Option<i64> {
    let known: Map<String, Value> = serde_json::from_str(details).ok()?;
    known.get(SILENT_UNTIL)?.as_i64()
}

/// A run's details, which are a JSON object, with how its node was reached where that was not by an
/// agent.
pub(crate) fn details_via(details: String, via: Via) -> String {
    if via == Via::Agent {
        return details;
    }
    let mut known: Map<String, Value> = serde_json::from_str(&details).unwrap_or_default();
    known.insert(TRANSPORT.to_owned(), Value::from(SSH));
    Value::Object(known).to_string()
}

/// A duration as it is stored.
pub(crate) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Reads what [`details_via`] wrote.
pub(crate) fn via(details: &str) -> Via {
    let known: Map<String, Value> = serde_json::from_str(details).unwrap_or_default();
    match known.get(TRANSPORT).and_then(Value::as_str) {
        Some(SSH) => Via::Ssh,
        _ => Via::Agent,
    }
}

/// The spool in what [`mark_details`] wrote.
pub(crate) fn spool_id(details: &str) -> Option<Uuid> {
    #[derive(serde::Deserialize)]
    struct Details {
        spool_id: Option<Uuid>,
    }
    serde_json::from_str::<Details>(details).ok()?.spool_id
}

/// What a run without an outcome says of itself.
pub(crate) fn message_details(message: &str) -> String {
    json!({ "message": message }).to_string()
}

fn of_node(node: &Certname, kind: &str, at_ms: i64, detail: &Value, message: String) -> NewEvent {
    let details = json!({"node": node, "detail": detail}).to_string();
    let certname = Some(node.to_string());
    NewEvent {
        kind: kind.to_owned(),
        at_ms,
        certname,
        details,
        message,
    }
}

fn of_job(kind: &str, at_ms: i64, details: &Value, message: String) -> NewEvent {
    let details = details.to_string();
    NewEvent {
        kind: kind.to_owned(),
        at_ms,
        certname: None,
        details,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_read_back() {
        let spool_id_there = Uuid::from_u128(7);
        for way in [Via::Agent, Via::Ssh] {
            let mark = mark_details(Some(spool_id_there), way);
            assert_eq!(spool_id(&mark), Some(spool_id_there));
            assert_eq!(via(&mark), way);
            assert_eq!(silent_until(&mark), None);
            let silent = silent_details(Some(spool_id_there), way, Some(5));
            assert_eq!(spool_id(&silent), Some(spool_id_there));
            assert_eq!((via(&silent), silent_until(&silent)), (way, Some(5)));
            let heard = silent_details(Some(spool_id_there), way, None);
            assert_eq!(heard, mark);
        }
        for nothing in [
            &mark_details(None, Via::Agent),
            "",
            "[]",
            "{\"spool_id\":\"x\"}",
        ] {
            assert_eq!(spool_id(nothing), None);
        }
    }
}
