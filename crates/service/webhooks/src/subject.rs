//! The job that an event is about, in the form for delivery: [`EventSubject`].
//!
//! Invariant: the description of an event is the same at every read, so counts cover the events up
//! to it, and the state of the job is that of the event.

use serde::Serialize;
use serde_json::Value;
use store::{JobNumber, JobRow, PlanJobRow, Store, StoreError};

use crate::defaults::DESCRIPTION_CHARS;
use crate::event::{WebhookEvent, WebhookEventSource};

/// The job of an event, its owner and its nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct EventSubject {
    /// `task`, `deploy` (Puppet runs), `command`, `script`, …; `plan` in events of plan jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<String>,
    /// The plan of the plan job, or the plan that started the job.
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
    pub(crate) nodes: Option<EventNodeCounts>,
}

/// Counts of a job's nodes: all, and those that had ended in each way when the event happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct EventNodeCounts {
    pub(crate) total: u64,
    /// Absent in events of single nodes: a job may have tens of thousands of them, and counting for
    /// each would take longer than the job.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<EndedCounts>,
}

/// Numbers of nodes by the way in which they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct EndedCounts {
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    pub(crate) errored: u64,
    pub(crate) skipped: u64,
}

// === impl EventSubject ===

impl EventSubject {
    /// Reads the job or plan job of an event; most fields are `None` if it is no longer stored.
    pub(crate) async fn load(event: &WebhookEvent, store: &Store) -> Result<Self, StoreError> {
        match event.source {
            WebhookEventSource::Job(job) => Self::load_job(job, event, store).await,
            WebhookEventSource::PlanJob(number) => {
                let plan_job = store.plan_job(number).await?;
                Ok(Self::load_plan_job(number, plan_job))
            }
            WebhookEventSource::PuppetRun => Ok(Self::of_puppet_run(event)),
        }
    }

    async fn load_job(
        job: JobNumber,
        event: &WebhookEvent,
        store: &Store,
    ) -> Result<Self, StoreError> {
        let Some(row) = store.job(job).await? else {
            return Ok(Self::default());
        };
        let plan = store.plan_of_job(job).await?;
        let ended = match event.certname {
            Some(_) => None,
            None => Some(EndedCounts::of(
                &store.node_event_counts(job, event.id.number()).await?,
            )),
        };
        Ok(Self::new(row, plan, ended))
    }

    fn load_plan_job(number: i64, row: Option<PlanJobRow>) -> Self {
        let (plan, owner, environment) = match row {
            Some(row) => (Some(row.plan), Some(row.owner), row.environment),
            None => (None, None, String::new()),
        };
        Self {
            command: Some("plan".to_owned()),
            plan,
            plan_job: Some(number.to_string()),
            owner,
            environment,
            ..Self::default()
        }
    }

    /// A run is described by its details alone: it may have no job.
    fn of_puppet_run(event: &WebhookEvent) -> Self {
        let details: Value = serde_json::from_str(&event.details).unwrap_or_default();
        let environment = details["environment"].as_str().unwrap_or_default();
        Self {
            environment: environment.to_owned(),
            ..Self::default()
        }
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
            nodes: Some(EventNodeCounts {
                total: job.node_count,
                ended,
            }),
        }
    }
}

// === impl EndedCounts ===

impl EndedCounts {
    /// Counts the events of nodes by their types.
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
