//! The rows of the event log.

use crate::JobNumber;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::value::values;

row! {
    /// An event that is not written yet.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct NewEvent {
        /// Type of the event, such as `node_running`, `node_finished` or `job_finished`.
        pub kind: String,
        /// Time of the event in milliseconds since 1970.
        pub at_ms: i64,
        /// Certname of the node, for an event of a single node.
        pub certname: Option<String>,
        /// Details of the event, as JSON.
        pub details: String,
        /// Text shown to users.
        pub message: String,
    } write columns columns
}

macro_rules! insert_into_events {
    ($rest:literal) => {
        concat!("INSERT INTO events (id, job, ", columns!(), ") ", $rest)
    };
}

const INSERT: &str = insert_into_events!("VALUES ($1, $2, $3, $4, $5, $6, $7)");
const INSERT_AFTER_RUN: &str = insert_into_events!(
    "SELECT $1, job, $3, $4, $5, $6, $7 FROM runs \
     WHERE job = $2 AND certname = $8 AND latest_event_id = $1"
);
const INSERT_AFTER_JOB: &str = insert_into_events!(
    "SELECT $1, number, $3, $4, $5, $6, $7 FROM jobs WHERE number = $2 AND latest_event_id = $1"
);
const INSERT_FOR_JOB: &str = insert_into_events!(
    "SELECT $1, number, $3, $4, $5, $6, $7 FROM jobs WHERE number = $2 AND pruned = 0"
);

pub(crate) const STATEMENTS: &[&str] =
    &[INSERT, INSERT_AFTER_RUN, INSERT_AFTER_JOB, INSERT_FOR_JOB];

// === impl NewEvent ===

impl NewEvent {
    pub(crate) fn bytes(&self) -> usize {
        self.details.len() + self.message.len()
    }
}

/// Inserts an event of a job that is being inserted.
pub(crate) fn insert(event: &NewEvent, id: i64, job: JobNumber) -> SqlStatement<'_> {
    SqlStatement::new(INSERT, values![id, job, event])
}

/// Inserts the event of a run's transition, if the transition was applied.
pub(crate) fn insert_after_run<'a>(
    event: &'a NewEvent,
    id: i64,
    job: JobNumber,
    certname: &'a str,
) -> SqlStatement<'a> {
    SqlStatement::new(INSERT_AFTER_RUN, values![id, job, event, certname])
}

/// Inserts the event of a job's transition, if the transition was applied.
pub(crate) fn insert_after_job(event: &NewEvent, id: i64, job: JobNumber) -> SqlStatement<'_> {
    SqlStatement::new(INSERT_AFTER_JOB, values![id, job, event])
}

/// Inserts an event that belongs to no transition.
pub(crate) fn insert_for_job(event: &NewEvent, id: i64, job: JobNumber) -> SqlStatement<'_> {
    SqlStatement::new(INSERT_FOR_JOB, values![id, job, event])
}
