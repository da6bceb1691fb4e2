//! An event of a job or of a plan job, in the form for delivery: [`WebhookEvent`].
//!
//! Invariant: an event has the same id at every read, and no event of a job has the id of one of a
//! plan job.

use std::fmt;

use store::{EventRow, JobNumber, PlanEventRow};

/// An event from the log of jobs or of plan jobs.
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

/// The job or plan job of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WebhookEventSource {
    Job(JobNumber),
    PlanJob(i64),
}

/// Number of an event in its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WebhookEventId {
    Job(i64),
    Plan(i64),
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

impl WebhookEventId {
    /// Number of the event in its log.
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Job(number) | Self::Plan(number) => number,
        }
    }
}

/// Formats the id as the value of `webhook-id`.
impl fmt::Display for WebhookEventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(number) => write!(f, "event_{number}"),
            Self::Plan(number) => write!(f, "plan_event_{number}"),
        }
    }
}
