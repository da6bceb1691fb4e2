//! The event log: append-only, one sequence for all jobs.

use crate::rows::row;
use crate::store::Store;
use crate::value::values;
use crate::{JobNumber, StoreError};

row! {
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
    } read select events from "events"
}

const OF_JOB: &str = events!("WHERE job = $1 AND id >= $2 ORDER BY id LIMIT $3");
const OF_ALL: &str = events!("WHERE id >= $1 ORDER BY id LIMIT $2");
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
        self.query(OF_JOB, values![job, from_id, limit]).await
    }

    /// Events of all jobs from `from_id` on, in ascending order.
    pub async fn all_events(
        &self,
        from_id: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        self.query(OF_ALL, values![from_id, limit]).await
    }

    /// Numbers of a job's node events by type, up to this event.
    pub async fn node_event_counts(
        &self,
        job: JobNumber,
        up_to_id: i64,
    ) -> Result<Vec<(String, i64)>, StoreError> {
        self.query(NODE_COUNTS, values![job, up_to_id]).await
    }

    /// The highest id given to any event so far; 0 before the first.
    pub async fn last_event_id(&self) -> Result<i64, StoreError> {
        Ok(self.query_one(LAST_ID, Vec::new()).await?.unwrap_or(0))
    }
}
