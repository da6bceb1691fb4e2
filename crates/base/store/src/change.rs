//! What may change in a job, a run or the log, as data: [`Change`], and what became of it.

use crate::JobNumber;
use crate::writing::events::NewEvent;

/// One change of a job or run, with its event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A run goes on. Applied only if that is forward; see [`Applied`].
    Run(RunChange),
    /// A job goes on. Applied only if that is forward.
    Job(JobChange),
    /// The details of a run change, and not its state. Applied only while it is `running`.
    Details(DetailsChange),
    /// A job goes on to its next batch, or pauses before it. Applied only if that is forward, and the job is
    /// neither over nor stopping.
    Batch(BatchChange),
    /// Something happened that changes no state. Applied if the job exists.
    Event(EventChange),
}

/// A run's next state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunChange {
    /// Of which job.
    pub job: JobNumber,
    /// On which node.
    pub certname: String,
    /// `ready`, `running`, `finished`, `failed`, `errored` or `skipped`.
    pub to_state: String,
    /// When.
    pub at_ms: i64,
    /// Time that the run took, in milliseconds by a clock that is never set; `None` if that is not known.
    pub duration_ms: Option<i64>,
    /// JSON; `None` keeps what is there.
    pub result: Option<String>,
    /// JSON; `None` keeps what is there.
    pub details: Option<String>,
    /// What the node told as a secret, sealed by the caller. Kept for a plan that has not ended well;
    /// otherwise it is dropped.
    pub sealed: Option<Vec<u8>>,
    /// Its place in the log.
    pub event: Option<NewEvent>,
}

/// New details of a run that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetailsChange {
    /// Number of the job.
    pub job: JobNumber,
    /// Certname of the run's node.
    pub certname: String,
    /// A JSON object in the place of the one that is there.
    pub details: String,
}

/// A job's next state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobChange {
    /// Which job.
    pub job: JobNumber,
    /// `ready`, `running`, `stopping`, `stopped`, `finished` or `failed`.
    pub to_state: String,
    /// When.
    pub at_ms: i64,
    /// Time that the job took, in milliseconds by a clock that is never set; `None` if that is not known.
    pub duration_ms: Option<i64>,
    /// Its place in the log.
    pub event: Option<NewEvent>,
}

/// A batch that a job starts, or the pause behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchChange {
    /// Which job.
    pub job: JobNumber,
    /// The batch that was started last, from 1.
    pub batch: u32,
    /// The end of the pause behind it.
    pub next_batch_ms: Option<i64>,
    /// Its place in the log.
    pub event: Option<NewEvent>,
}

/// An event by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventChange {
    /// Of which job.
    pub job: JobNumber,
    /// What happened.
    pub event: NewEvent,
}

/// What became of a [`Change`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// `false`: the job or run is unknown, or it was there or further already; nothing was
    /// written, no event either.
    pub changed: bool,
    /// The id of the event, if there was one and it was written.
    pub event_id: Option<i64>,
}
