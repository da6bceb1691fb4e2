//! An event of a job or of a plan job, in the form for delivery: [`Happening`].
//!
//! Invariant: an event has the same id at every read, and no event of a job has the id of one of a
//! plan job.

use std::fmt;

use store::{EventRow, JobNumber, PlanEventRow};

/// An event from the log of jobs or of plan jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Happening {
    pub(crate) id: HappeningId,
    pub(crate) source: Source,
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
pub(crate) enum Source {
    Job(JobNumber),
    PlanJob(i64),
}

/// Number of an event in its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HappeningId {
    Job(i64),
    Plan(i64),
}

impl From<EventRow> for Happening {
    fn from(row: EventRow) -> Self {
        Self {
            id: HappeningId::Job(row.id),
            source: Source::Job(row.job),
            kind: row.kind,
            at_ms: row.at_ms,
            certname: row.certname,
            details: row.details,
            message: row.message,
        }
    }
}

impl From<PlanEventRow> for Happening {
    fn from(row: PlanEventRow) -> Self {
        Self {
            id: HappeningId::Plan(row.id),
            source: Source::PlanJob(row.plan_job),
            kind: row.kind,
            at_ms: row.at_ms,
            certname: None,
            details: row.details,
            message: row.message,
        }
    }
}

impl HappeningId {
    /// Number of the event in its log.
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Job(number) | Self::Plan(number) => number,
        }
    }
}

/// Formats the id as the value of `webhook-id`.
impl fmt::Display for HappeningId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(number) => write!(f, "event_{number}"),
            Self::Plan(number) => write!(f, "plan_event_{number}"),
        }
    }
}
