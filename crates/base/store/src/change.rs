//! Changes of a job, a run or the event log, as data: [`JobRunChange`], and its result,
//! [`ChangeResult`].

use crate::JobNumber;
use crate::writing::events::NewEvent;

/// One change of a job or run, with its event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobRunChange {
    /// A run enters a state. Applied only if the state is further on; see [`ChangeResult`].
    Run(RunChange),
    /// A job enters a state. Applied only if the state is further on.
    Job(JobChange),
    /// The details of a run change, and its state does not. Applied only while the run is
    /// `running`.
    Details(DetailsChange),
    /// A job starts its next batch, or pauses before it. Applied only if that is further on, and
    /// the job is neither over nor stopping.
    Batch(BatchChange),
    /// An event that changes no state. Applied if the job exists.
    Event(EventChange),
}

/// The next state of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunChange {
    /// Number of the job.
    pub job: JobNumber,
    /// Certname of the run's node.
    pub certname: String,
    /// `ready`, `running`, `finished`, `failed`, `errored` or `skipped`.
    pub to_state: String,
    /// Time of the change in milliseconds since 1970.
    pub at_ms: i64,
    /// Duration of the run in milliseconds, by a monotonic clock; `None` if it is not known.
    pub duration_ms: Option<i64>,
    /// Result as JSON; `None` keeps the stored one.
    pub result: Option<String>,
    /// Details as JSON; `None` keeps the stored ones.
    pub details: Option<String>,
    /// Sensitive output of the node, sealed by the caller. Kept for a plan that has not ended
    /// successfully, otherwise dropped.
    pub sealed: Option<Vec<u8>>,
    /// Event that is written to the log with the change.
    pub event: Option<NewEvent>,
}

/// New details of a run that is in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetailsChange {
    /// Number of the job.
    pub job: JobNumber,
    /// Certname of the run's node.
    pub certname: String,
    /// A JSON object that replaces the stored one.
    pub details: String,
}

/// The next state of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobChange {
    /// Number of the job.
    pub job: JobNumber,
    /// `ready`, `running`, `stopping`, `stopped`, `finished` or `failed`.
    pub to_state: String,
    /// Time of the change in milliseconds since 1970.
    pub at_ms: i64,
    /// Duration of the job in milliseconds, by a monotonic clock; `None` if it is not known.
    pub duration_ms: Option<i64>,
    /// Event that is written to the log with the change.
    pub event: Option<NewEvent>,
}

/// A batch that a job starts, or the pause after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchChange {
    /// Number of the job.
    pub job: JobNumber,
    /// The batch that was started last, from 1.
    pub batch: u32,
    /// End of the pause after the batch, in milliseconds since 1970; `None` outside a pause.
    pub next_batch_ms: Option<i64>,
    /// Event that is written to the log with the change.
    pub event: Option<NewEvent>,
}

/// An event without a change of state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventChange {
    /// Number of the job.
    pub job: JobNumber,
    /// The event that is written to the log.
    pub event: NewEvent,
}

/// The result of a [`JobRunChange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeResult {
    /// `false`: the job or run does not exist, or is in this state or a later one already; neither
    /// the change nor its event was written.
    pub changed: bool,
    /// Id of the event; `None` if there was none or it was not written.
    pub event_id: Option<i64>,
}
