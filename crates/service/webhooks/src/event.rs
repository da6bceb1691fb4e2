//! An event of a job, of a plan job or of a Puppet run, in the form for delivery: [`WebhookEvent`].
//!
//! Invariant: an event has the same id at every read, and no two events of different logs have the
//! same id.

use std::fmt;

use serde_json::Value;
use store::{EventRow, JobNumber, PlanEventRow, PuppetRunEventRow};

/// An event from the log of jobs, of plan jobs or of Puppet runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebhookEvent {
    pub(crate) id: WebhookEventId,
    pub(crate) source: WebhookEventSource,
    /// Type of the event, as in filters.
    pub(crate) kind: String,
    /// Time of the event, in milliseconds since 1970.
    pub(crate) at_ms: i64,
    /// Certname of the node that the event is about, if there is one.
    pub(crate) certname: Option<String>,
    /// Details of the event, as JSON text.
    pub(crate) details: String,
    pub(crate) message: String,
}

/// The job or plan job of an event, or a Puppet run, whose job is among the details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WebhookEventSource {
    Job(JobNumber),
    PlanJob(i64),
    PuppetRun,
}

/// Number of an event in its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WebhookEventId {
    Job(i64),
    Plan(i64),
    PuppetRun(i64),
}

impl From<EventRow> for WebhookEvent {
    fn from(row: EventRow) -> Self {
        Self {
            id: WebhookEventId::Job(row.id),
            source: WebhookEventSource::Job(row.job),
            kind: row.kind,
            at_ms: row.at_ms,
            certname: row.certname,
            details: row.details,
            message: row.message,
        }
    }
}

impl From<PlanEventRow> for WebhookEvent {
    fn from(row: PlanEventRow) -> Self {
        Self {
            id: WebhookEventId::Plan(row.id),
            source: WebhookEventSource::PlanJob(row.plan_job),
            kind: row.kind,
            at_ms: row.at_ms,
            certname: None,
            details: row.details,
            message: row.message,
        }
    }
}

impl From<PuppetRunEventRow> for WebhookEvent {
    fn from(row: PuppetRunEventRow) -> Self {
        let details: Value = serde_json::from_str(&row.details).unwrap_or_default();
        Self {
            id: WebhookEventId::PuppetRun(row.id),
            source: WebhookEventSource::PuppetRun,
            message: describe_run(&row.kind, &row.certname, &details["resources"]),
            kind: row.kind,
            at_ms: row.at_ms,
            certname: Some(row.certname),
            details: row.details,
        }
    }
}

/// The end of a Puppet run as a sentence, with the numbers of its resources.
fn describe_run(kind: &str, certname: &str, resources: &Value) -> String {
    let count = |name: &str| resources[name].as_u64().filter(|count| *count > 0);
    let run = format!("Puppet run on {certname}");
    let total = match count("total") {
        Some(total) => format!(" of {total} resources"),
        None => " resources".to_owned(),
    };
    match kind {
        "puppet_run_failed" => {
            let counted = ["failed", "failed_to_restart", "changed", "skipped"];
            let counted = counted
                .into_iter()
                .filter_map(|name| Some(format!("{} {}", count(name)?, name.replace('_', " "))));
            let counted: Vec<String> = counted.collect();
            match counted.is_empty() {
                true => format!("{run} failed"),
                false => format!("{run} failed: {}{total}", counted.join(", ")),
            }
        }
        "puppet_run_changed" => match count("changed") {
            Some(changed) => format!("{run} changed {changed}{total}"),
            None => format!("{run} changed resources"),
        },
        _ => format!("{run} changed nothing"),
    }
}

impl WebhookEventId {
    /// Number of the event in its log.
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Job(number) | Self::Plan(number) | Self::PuppetRun(number) => number,
        }
    }
}

/// Formats the id as the value of `webhook-id`.
impl fmt::Display for WebhookEventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(number) => write!(f, "event_{number}"),
            Self::Plan(number) => write!(f, "plan_event_{number}"),
            Self::PuppetRun(number) => write!(f, "puppet_run_event_{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn runs_are_described_with_the_counts_that_are_not_zero() {
        let counts = json!({"total": 120, "failed": 2, "changed": 1, "skipped": 0});
        assert_eq!(
            describe_run("puppet_run_failed", "web1", &counts),
            "Puppet run on web1 failed: 2 failed, 1 changed of 120 resources"
        );
        assert_eq!(
            describe_run(
                "puppet_run_changed",
                "web1",
                &json!({"total": 9, "changed": 2})
            ),
            "Puppet run on web1 changed 2 of 9 resources"
        );
        assert_eq!(
            describe_run("puppet_run_unchanged", "web1", &json!({"total": 9})),
            "Puppet run on web1 changed nothing"
        );
        assert_eq!(
            describe_run("puppet_run_failed", "web1", &json!({})),
            "Puppet run on web1 failed"
        );
    }
}
