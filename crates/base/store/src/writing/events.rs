//! The rows of the event log.

use crate::JobNumber;
use crate::statement::SqlStatement;
use crate::value::SqlValue;

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
}

const INSERT: &str = "INSERT INTO events (id, job, kind, at_ms, certname, details, message) \
     VALUES ($1, $2, $3, $4, $5, $6, $7)";

const INSERT_AFTER_RUN: &str = "INSERT INTO events (id, job, kind, at_ms, certname, details, message) \
     SELECT $1, job, $3, $4, $5, $6, $7 FROM runs \
     WHERE job = $2 AND certname = $8 AND latest_event_id = $1";

const INSERT_AFTER_JOB: &str = "INSERT INTO events (id, job, kind, at_ms, certname, details, message) \
     SELECT $1, number, $3, $4, $5, $6, $7 FROM jobs WHERE number = $2 AND latest_event_id = $1";

const INSERT_FOR_JOB: &str = "INSERT INTO events (id, job, kind, at_ms, certname, details, message) \
     SELECT $1, number, $3, $4, $5, $6, $7 FROM jobs WHERE number = $2 AND pruned = 0";

pub(crate) const STATEMENTS: &[&str] =
    &[INSERT, INSERT_AFTER_RUN, INSERT_AFTER_JOB, INSERT_FOR_JOB];

// === impl NewEvent ===

impl NewEvent {
    pub(crate) fn bytes(&self) -> usize {
        self.details.len() + self.message.len()
    }

    fn values(&self, id: i64, job: JobNumber) -> Vec<SqlValue<'_>> {
        vec![
            SqlValue::Int(id),
            SqlValue::Int(job.get()),
            SqlValue::text(&self.kind),
            SqlValue::Int(self.at_ms),
            SqlValue::opt_text(self.certname.as_deref()),
            SqlValue::text(&self.details),
            SqlValue::text(&self.message),
        ]
    }
}

/// Inserts an event of a job that is being inserted.
pub(crate) fn insert(event: &NewEvent, id: i64, job: JobNumber) -> SqlStatement<'_> {
    SqlStatement {
        sql: INSERT,
        values: event.values(id, job),
    }
}

/// Inserts the event of a run's transition, if the transition was applied.
pub(crate) fn insert_after_run<'a>(
    event: &'a NewEvent,
    id: i64,
    job: JobNumber,
    certname: &'a str,
) -> SqlStatement<'a> {
    let mut values = event.values(id, job);
    values.push(SqlValue::text(certname));
    SqlStatement {
        sql: INSERT_AFTER_RUN,
        values,
    }
}

/// Inserts the event of a job's transition, if the transition was applied.
pub(crate) fn insert_after_job(event: &NewEvent, id: i64, job: JobNumber) -> SqlStatement<'_> {
    SqlStatement {
        sql: INSERT_AFTER_JOB,
        values: event.values(id, job),
    }
}

/// Inserts an event that belongs to no transition.
pub(crate) fn insert_for_job(event: &NewEvent, id: i64, job: JobNumber) -> SqlStatement<'_> {
    SqlStatement {
        sql: INSERT_FOR_JOB,
        values: event.values(id, job),
    }
}
