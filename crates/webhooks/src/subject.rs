//! The job that an event is about, as receivers are told of it: [`Subject`].
//!
//! The rule: what is told of an event is the same whenever it is read, so counts are of the events up to it, and the
//! state of the job is that of the event.

use serde::Serialize;
use store::{EventRow, JobRow, Store, StoreError};

use crate::defaults::DESCRIPTION_CHARS;

/// The job of an event, its owner and its nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Subject {
    /// `task`, `deploy` (Puppet runs), `command`, `script`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<String>,
    /// The plan that started the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plan: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plan_job: Option<String>,
    /// Login of the user who requested the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) environment: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) nodes: Option<NodeCounts>,
}

/// Counts of a job's nodes: all, and those that had ended in each way when the event happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct NodeCounts {
    pub(crate) total: u64,
    /// Absent in events of single nodes: with tens of thousands of them, counting would take longer than the job.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<EndedCounts>,
}

/// Nodes by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct EndedCounts {
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    pub(crate) errored: u64,
    pub(crate) skipped: u64,
}

// === impl Subject ===

impl Subject {
    /// Reads the job of an event; one that is not kept any more gives an empty subject.
    pub(crate) async fn of(event: &EventRow, store: &Store) -> Result<Self, StoreError> {
        let Some(job) = store.job(event.job).await? else {
            return Ok(Self::default());
        };
        let plan = store.plan_of_job(event.job).await?;
        let ended = match event.certname {
            Some(_) => None,
            None => Some(EndedCounts::of(
                &store.node_event_counts(event.job, event.id).await?,
            )),
        };
        Ok(Self::new(job, plan, ended))
    }

    fn new(job: JobRow, plan: Option<(i64, String)>, ended: Option<EndedCounts>) -> Self {
        let (plan_job, plan) = plan.unzip();
        Self {
            command: Some(job.command),
            task: job.task,
            plan,
            plan_job: plan_job.map(|number| number.to_string()),
            owner: Some(job.owner),
            environment: job.environment,
            description: job.description.chars().take(DESCRIPTION_CHARS).collect(),
            nodes: Some(NodeCounts {
                total: job.node_count,
                ended,
            }),
        }
    }
}

// === impl EndedCounts ===

impl EndedCounts {
    /// From events of nodes, by their types.
    fn of(events: &[(String, i64)]) -> Self {
        let count = |kind: &str| {
            let of_kind = events.iter().filter(|(found, _)| found == kind);
            of_kind.map(|(_, count)| count.unsigned_abs()).sum()
        };
        Self {
            succeeded: count("node_finished"),
            failed: count("node_failed"),
            errored: count("node_errored"),
            skipped: count("node_skipped"),
        }
    }
}
