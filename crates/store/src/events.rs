//! The event log: append-only, one sequence for all jobs.

use crate::store::Store;
use crate::value::{ColumnError, Columns, FromRow, Value};
use crate::write::Step;
use crate::{JobNumber, StoreError};

/// An event to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// `node_running`, `node_finished`, `job_finished`, …
    pub kind: String,
    /// When.
    pub at_ms: i64,
    /// Of which node, if of one.
    pub certname: Option<String>,
    /// JSON.
    pub details: String,
    /// For people.
    pub message: String,
}

/// An event as it stands in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// Ascending over all jobs; with gaps.
    pub id: i64,
    /// Of which job.
    pub job: JobNumber,
    /// `node_running`, …
    pub kind: String,
    /// When.
    pub at_ms: i64,
    /// Of which node, if of one.
    pub certname: Option<String>,
    /// JSON.
    pub details: String,
    /// For people.
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

const OF_JOB: &str = "SELECT id, job, kind, at_ms, certname, details, message FROM events \
     WHERE job = $1 AND id >= $2 ORDER BY id LIMIT $3";

const OF_ALL: &str = "SELECT id, job, kind, at_ms, certname, details, message FROM events \
     WHERE id >= $1 ORDER BY id LIMIT $2";

const LAST_ID: &str = "SELECT event FROM ledger WHERE id = 1";

pub(crate) const STATEMENTS: &[&str] = &[
    INSERT,
    INSERT_AFTER_RUN,
    INSERT_AFTER_JOB,
    INSERT_FOR_JOB,
    OF_JOB,
    OF_ALL,
    LAST_ID,
];

// === impl Store ===

impl Store {
    /// Events of a job from `from_id` on, in order.
    pub async fn events(
        &self,
        job: JobNumber,
        from_id: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let values = vec![
            Value::Int(job.get()),
            Value::Int(from_id),
            Value::Int(limit),
        ];
        self.query(OF_JOB, values).await
    }

    /// Events of all jobs from `from_id` on, in order.
    pub async fn all_events(
        &self,
        from_id: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.query(OF_ALL, vec![Value::Int(from_id), Value::Int(limit)])
            .await
    }

    /// The highest id given to any event so far; 0 before the first.
    pub async fn last_event_id(&self) -> Result<i64, StoreError> {
        Ok(self.query_one(LAST_ID, Vec::new()).await?.unwrap_or(0))
    }
}

// === impl NewEvent ===

impl NewEvent {
    pub(crate) fn bytes(&self) -> usize {
        self.details.len() + self.message.len()
    }

    fn values(&self, id: i64, job: JobNumber) -> Vec<Value<'_>> {
        vec![
            Value::Int(id),
            Value::Int(job.get()),
            Value::text(&self.kind),
            Value::Int(self.at_ms),
            Value::opt_text(self.certname.as_deref()),
            Value::text(&self.details),
            Value::text(&self.message),
        ]
    }
}

/// An event of a job that is being inserted.
pub(crate) fn insert(event: &NewEvent, id: i64, job: JobNumber) -> Step<'_> {
    Step {
        sql: INSERT,
        values: event.values(id, job),
    }
}

/// The event of a run's transition, if that was applied.
pub(crate) fn insert_after_run<'a>(
    event: &'a NewEvent,
    id: i64,
    job: JobNumber,
    certname: &'a str,
) -> Step<'a> {
    let mut values = event.values(id, job);
    values.push(Value::text(certname));
    Step {
        sql: INSERT_AFTER_RUN,
        values,
    }
}

/// The event of a job's transition, if that was applied.
pub(crate) fn insert_after_job(event: &NewEvent, id: i64, job: JobNumber) -> Step<'_> {
    Step {
        sql: INSERT_AFTER_JOB,
        values: event.values(id, job),
    }
}

/// An event by itself.
pub(crate) fn insert_for_job(event: &NewEvent, id: i64, job: JobNumber) -> Step<'_> {
    Step {
        sql: INSERT_FOR_JOB,
        values: event.values(id, job),
    }
}

// === impl EventRow ===

impl FromRow for EventRow {
    fn from_row(row: &dyn Columns) -> Result<Self, ColumnError> {
        Ok(Self {
            id: row.int(0)?,
            job: JobNumber::from_column(row.int(1)?),
            kind: row.text(2)?,
            at_ms: row.int(3)?,
            certname: row.opt_text(4)?,
            details: row.text(5)?,
            message: row.text(6)?,
        })
    }
}
