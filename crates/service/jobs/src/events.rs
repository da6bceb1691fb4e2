//! The events of jobs and runs, in one place: types, details and messages.
//!
//! Invariant: type and node are a contract with clients; the wording of messages is not.

use std::time::Duration;

use jiff::Timestamp;
use pcp::Certname;
use serde_json::{Map, Value, json};
use store::{JobChange, JobNumber, NewEvent};
use uuid::Uuid;

use crate::defaults::LEASES_NAMED;
use crate::kind::JobKind;
use crate::leases::{LeaseSummary, QuarantineSummary};
use crate::over_ssh::NodeTransport;
use crate::puppet::describe_held_back;
use crate::rollout::{BatchCount, HaltReason};
use crate::state::{JobState, RunState};
use crate::verdict::{AbsenceStart, clip};

/// The run of a node was given up and its real outcome came afterwards. The only event that may
/// come after a job's last.
pub const NODE_LATE_OUTCOME: &str = "node_late_outcome";

/// A node's agent has no module for the job's action, and gets a task in its place.
pub(crate) const NODE_AS_TASK: &str = "node_as_task";

/// The key of a run's details that names the connection to its node.
const TRANSPORT: &str = "transport";
const SSH: &str = "ssh";

/// The node of a run in flight is not connected.
pub(crate) const NODE_DISCONNECTED: &str = "node_disconnected";

/// Type of the event for a node that is connected again while a run of it waits.
pub(crate) const NODE_RECONNECTED: &str = "node_reconnected";

/// `seconds`: time that the node may stay away.
pub(crate) fn node_away(
    node: &Certname,
    since: AbsenceStart,
    seconds: u64,
    at_ms: i64,
) -> NewEvent {
    let text = format!(
        "{node} is {since}. The run is not over: the action may be running there, and its outcome \
         is taken when the node is back. Without a sign of it for {seconds} s the run is given up"
    );
    let detail = json!({"since": since.timestamp().to_string(), "message": text});
    node_event(node, NODE_DISCONNECTED, at_ms, &detail, text)
}

pub(crate) fn node_back(node: &Certname, at_ms: i64) -> NewEvent {
    let text = format!("{node} is connected again; its agent is asked how the run goes");
    node_event(node, NODE_RECONNECTED, at_ms, &json!({}), text)
}

pub(crate) fn run_started(kind: JobKind, node: &Certname, noop: bool, at_ms: i64) -> NewEvent {
    let text = match kind {
        JobKind::Puppet => format!("Started puppet run on {node} ..."),
        _ => format!("Started on {node} ..."),
    };
    let detail = json!({"noop": noop});
    node_event(node, "node_running", at_ms, &detail, text)
}

/// `message` is the reason, for the states that need one; `told` replaces the message alone for
/// programs.
pub(crate) fn run_ended(
    of: JobKind,
    node: &Certname,
    state: RunState,
    message: &str,
    told: Option<Value>,
    at_ms: i64,
) -> NewEvent {
    let puppet = of == JobKind::Puppet;
    let (kind, text) = match state {
        RunState::Finished if puppet => {
            let held_back = told
                .as_ref()
                .and_then(Value::as_object)
                .and_then(describe_held_back);
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
    node_event(node, kind, at_ms, &detail, text)
}

/// `words` are the agent's message.
pub(crate) fn sent_as_task(node: &Certname, task: &str, words: &str, at_ms: i64) -> NewEvent {
    let words = clip(words);
    let detail = json!({"task": task, "message": words});
    let text =
        format!("The agent of {node} cannot do it ({words}); it gets the task {task} instead");
    node_event(node, NODE_AS_TASK, at_ms, &detail, text)
}

/// `told` describes the end as text; `result` is the outcome in the shape of a run's result, unless
/// it is too large for an event.
pub(crate) fn late_outcome(
    node: &Certname,
    exit_code: Option<i64>,
    told: &str,
    result: Option<Value>,
    at_ms: i64,
) -> NewEvent {
    let detail = json!({"exit_code": exit_code, "message": told, "result": result});
    let text = format!("The outcome on {node} came after the run was given up: {told}");
    node_event(node, NODE_LATE_OUTCOME, at_ms, &detail, text)
}

pub(crate) fn job_stopping(at_ms: i64) -> NewEvent {
    job_event(
        "job_stopping",
        at_ms,
        &json!({}),
        "Stopping the job ...".to_owned(),
    )
}

pub(crate) fn batch_started(batch: BatchCount, batches: u32, at_ms: i64) -> NewEvent {
    let BatchCount { batch, nodes, .. } = batch;
    let details = json!({"batch": batch, "batches": batches, "nodes": nodes});
    let text = format!(
        "Batch {batch} of {batches} starts: {}",
        format_node_count(nodes)
    );
    job_event("batch_started", at_ms, &details, text)
}

/// `before`: the job that has the leases of `nodes` nodes.
pub(crate) fn leases_awaited(before: JobNumber, nodes: usize, at_ms: i64) -> NewEvent {
    let details = json!({"job": before.to_string(), "nodes": nodes});
    let text = format!(
        "Waits for job {before}, which runs Puppet in order on {} of this one",
        format_node_count(nodes)
    );
    job_event("leases_awaited", at_ms, &details, text)
}

/// Nodes that other runs keep from being held.
pub(crate) fn leases_delayed(summary: &LeaseSummary, at_ms: i64) -> NewEvent {
    let text = format!(
        "Waits until only this job starts Puppet on {}",
        describe_unheld(&summary.unheld)
    );
    job_event("leases_awaited", at_ms, &lease_details(summary), text)
}

pub(crate) fn leases_taken(summary: &LeaseSummary, at_ms: i64) -> NewEvent {
    let LeaseSummary { held, unheld } = summary;
    let count = format_node_count(*held);
    let text = match (held, unheld.is_empty()) {
        (_, true) => format!("Only this job starts Puppet on {count}"),
        (0, false) => format!(
            "Other runs of Puppet may start during this job on {}",
            describe_unheld(unheld)
        ),
        (_, false) => format!(
            "Only this job starts Puppet on {count}; other runs may start on {}",
            describe_unheld(unheld)
        ),
    };
    job_event("leases_taken", at_ms, &lease_details(summary), text)
}

fn lease_details(LeaseSummary { held, unheld }: &LeaseSummary) -> Value {
    let named = unheld.iter().take(LEASES_NAMED);
    let reasons: Map<String, Value> = named
        .map(|(node, reason)| (node.to_string(), Value::from(reason.as_str())))
        .collect();
    json!({"held": held, "not_held": unheld.len(), "reasons": reasons})
}

/// `web1 (its agent knows no leases), web2 (…) and 3 more`.
fn describe_unheld(unheld: &[(Certname, String)]) -> String {
    let named = unheld.iter().take(LEASES_NAMED);
    let named = named.map(|(node, reason)| format!("{node} ({reason})"));
    name_some(named.collect(), unheld.len())
}

/// These names, and the number of others.
fn name_some(named: Vec<String>, count: usize) -> String {
    let others = count.saturating_sub(named.len());
    let named = named.join(", ");
    match others {
        0 => named,
        others => format!("{named} and {others} more"),
    }
}

/// Nodes that stay held after the job, because their runs did not succeed.
pub(crate) fn nodes_quarantined(summary: &QuarantineSummary, at_ms: i64) -> NewEvent {
    let QuarantineSummary { kept, not_kept } = summary;
    let names = kept.iter().take(LEASES_NAMED).map(Certname::to_string);
    let names: Vec<String> = names.collect();
    let details = json!({"count": kept.len(), "nodes": names, "not_kept": not_kept});
    let kept = match kept.len() {
        0 => "No node is in quarantine".to_owned(),
        count => format!(
            "{} in quarantine, where Puppet does not run by itself: {}. A later ordered run that succeeds ends it, or \
             `tutti node release`",
            format_node_count(count),
            name_some(names, count)
        ),
    };
    let text = match not_kept {
        0 => kept,
        count => format!(
            "{kept}. {} more, without success too, cannot be kept: not connected, or with an agent that does not hold leases",
            format_node_count(*count)
        ),
    };
    job_event("nodes_quarantined", at_ms, &details, text)
}

/// `next_ms`: the end of the pause after it.
pub(crate) fn batch_finished(
    batch: BatchCount,
    batches: u32,
    next_ms: Option<i64>,
    at_ms: i64,
) -> NewEvent {
    let BatchCount {
        batch,
        nodes,
        failed,
    } = batch;
    let next = next_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let mut details =
        json!({"batch": batch, "batches": batches, "nodes": nodes, "failures": failed});
    let then = next.map_or_else(String::new, |next| {
        format!("; the next one starts at {next:.0}")
    });
    let text = format!(
        "Batch {batch} of {batches} is over: {failed} of {} failed{then}",
        format_node_count(nodes)
    );
    if let Some(next) = next {
        details["next_batch_timestamp"] = json!(next.to_string());
    }
    job_event("batch_finished", at_ms, &details, text)
}

/// `left`: the nodes that do not start.
pub(crate) fn rollout_halted(reason: &HaltReason, left: usize, at_ms: i64) -> NewEvent {
    let mut details = reason.details();
    details["nodes_not_started"] = json!(left);
    let text = format!("{} will not start: {reason}", format_node_count(left));
    job_event("rollout_halted", at_ms, &details, text)
}

fn format_node_count(nodes: usize) -> String {
    match nodes {
        1 => "1 node".to_owned(),
        nodes => format!("{nodes} nodes"),
    }
}

/// `kind` is `job_finished` or `job_aborted`.
pub(crate) fn job_ended(kind: &str, state: JobState, at_ms: i64) -> NewEvent {
    job_event(
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

/// Data of a marked run for an engine that starts after a crash. It is kept in the details of the
/// run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct RunMark {
    /// Spool of the agent; `None`: a stock agent, or not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) spool_id: Option<Uuid>,
    /// Time of the mark by [`Clock::steady_ms`](store::Clock::steady_ms); `None` in marks of older servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) marked_ms: Option<i64>,
    /// End of the wait for the node, which is silent, by the same clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) silent_until_ms: Option<i64>,
}

// === impl RunMark ===

impl RunMark {
    /// Parses the output of [`RunMark::to_details`]; an empty mark if it cannot be parsed.
    pub(crate) fn from_details(details: Option<&str>) -> Self {
        let read = details.and_then(|details| serde_json::from_str(details).ok());
        read.unwrap_or_default()
    }

    pub(crate) fn to_details(self, via: NodeTransport) -> String {
        let details = serde_json::to_string(&self).unwrap_or_else(|_| "{}".to_owned());
        add_transport(details, via)
    }
}

/// A run's details, which are a JSON object, with the connection to its node unless that was an
/// agent.
pub(crate) fn add_transport(details: String, via: NodeTransport) -> String {
    if via == NodeTransport::Agent {
        return details;
    }
    let mut known: Map<String, Value> = serde_json::from_str(&details).unwrap_or_default();
    known.insert(TRANSPORT.to_owned(), Value::from(SSH));
    Value::Object(known).to_string()
}

/// A duration in milliseconds, as it is stored.
pub(crate) fn to_milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Parses the output of [`add_transport`].
pub(crate) fn parse_transport(details: &str) -> NodeTransport {
    let known: Map<String, Value> = serde_json::from_str(details).unwrap_or_default();
    match known.get(TRANSPORT).and_then(Value::as_str) {
        Some(SSH) => NodeTransport::Ssh,
        _ => NodeTransport::Agent,
    }
}

/// Details of a run without an outcome.
pub(crate) fn message_details(message: &str) -> String {
    json!({ "message": message }).to_string()
}

fn node_event(
    node: &Certname,
    kind: &str,
    at_ms: i64,
    detail: &Value,
    message: String,
) -> NewEvent {
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

fn job_event(kind: &str, at_ms: i64, details: &Value, message: String) -> NewEvent {
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
        let mark = RunMark {
            spool_id: Some(Uuid::from_u128(7)),
            marked_ms: Some(5),
            silent_until_ms: Some(9),
        };
        for way in [NodeTransport::Agent, NodeTransport::Ssh] {
            for mark in [mark, RunMark::default()] {
                let details = mark.to_details(way);
                assert_eq!(RunMark::from_details(Some(&details)), mark);
                assert_eq!(parse_transport(&details), way);
            }
        }
        for nothing in ["", "[]", "{\"spool_id\":\"x\"}", "{}"] {
            assert_eq!(RunMark::from_details(Some(nothing)), RunMark::default());
        }
        assert_eq!(RunMark::from_details(None), RunMark::default());
    }
}
