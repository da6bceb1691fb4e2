//! The event log: append-only, one sequence for all jobs.

use crate::store::Store;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};
use crate::{JobNumber, StoreError};

/// A stored event of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// Id of the event, ascending over all jobs, with gaps.
    pub id: i64,
    /// Number of the job.
    pub job: JobNumber,
    /// Type of the event, such as `node_running`.
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

const OF_JOB: &str = "SELECT id, job, kind, at_ms, certname, details, message FROM events \
     WHERE job = $1 AND id >= $2 ORDER BY id LIMIT $3";

const OF_ALL: &str = "SELECT id, job, kind, at_ms, certname, details, message FROM events \
     WHERE id >= $1 ORDER BY id LIMIT $2";

const LAST_ID: &str = "SELECT event FROM ledger WHERE id = 1";

const NODE_COUNTS: &str = "SELECT kind, COUNT(*) FROM events \
     WHERE job = $1 AND id <= $2 AND certname IS NOT NULL GROUP BY kind";

pub(crate) const STATEMENTS: &[&str] = &[OF_JOB, OF_ALL, LAST_ID, NODE_COUNTS];

// === impl Store ===

impl Store {
    /// Events of a job from `from_id` on, in ascending order.
    pub async fn events(
        &self,
        job: JobNumber,
        from_id: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let values = vec![
            SqlValue::Int(job.get()),
            SqlValue::Int(from_id),
            SqlValue::Int(limit),
        ];
        self.query(OF_JOB, values).await
    }

    /// Events of all jobs from `from_id` on, in ascending order.
    pub async fn all_events(
        &self,
        from_id: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.query(OF_ALL, vec![SqlValue::Int(from_id), SqlValue::Int(limit)])
            .await
    }

    /// Numbers of a job's node events by type, up to this event.
    pub async fn node_event_counts(
        &self,
        job: JobNumber,
        up_to_id: i64,
    ) -> Result<Vec<(String, i64)>, StoreError> {
        let values = vec![SqlValue::Int(job.get()), SqlValue::Int(up_to_id)];
        let counts: Vec<EventKindCount> = self.query(NODE_COUNTS, values).await?;
        Ok(counts
            .into_iter()
            .map(|EventKindCount(pair)| pair)
            .collect())
    }

    /// The highest id given to any event so far; 0 before the first.
    pub async fn last_event_id(&self) -> Result<i64, StoreError> {
        Ok(self.query_one(LAST_ID, Vec::new()).await?.unwrap_or(0))
    }
}

/// A type of events and their number.
struct EventKindCount((String, i64));

// === impl EventKindCount ===

impl FromRow for EventKindCount {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self((row.text(0)?, row.int(1)?)))
    }
}

// === impl EventRow ===

impl FromRow for EventRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
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
