//! Puppet runs of which webhooks tell: [`PuppetRunEventRow`].
//!
//! Invariants: an event is written in the transaction that writes the report of the run, once for
//! each run, and only if an enabled webhook names its type; its id comes from a counter that is
//! incremented in the same transaction, so no id is skipped or used again.

use crate::StoreError;
use crate::defaults::PRUNE_ROWS;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

row! {
    /// A stored event of a Puppet run.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PuppetRunEventRow {
        /// Id of the event, ascending.
        pub id: i64,
        /// Type of the event, such as `puppet_run_failed`.
        pub kind: String,
        /// Time at which the report arrived, in milliseconds since 1970.
        pub at_ms: i64,
        /// Certname of the node.
        pub certname: String,
        /// Details of the event, as a JSON object.
        pub details: String,
    } read select events from "puppet_run_events"
}

/// An event of a Puppet run that is not written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPuppetRunEvent {
    /// Type of the event, such as `puppet_run_failed`.
    pub kind: String,
    /// Details of the event, as a JSON object.
    pub details: String,
}

// A report that arrives again is in the table already, and no news.
const TAKE: &str = "UPDATE puppet_run_counters SET last = last + 1 WHERE name = 'event' \
     AND NOT EXISTS (SELECT 1 FROM run_reports WHERE report_id = $1) \
     AND EXISTS (SELECT 1 FROM webhooks WHERE enabled <> 0 AND events LIKE '%\"' || CAST($2 AS TEXT) || '\"%')";
const INSERT: &str = "INSERT INTO puppet_run_events (id, kind, at_ms, certname, details) \
     SELECT c.last, CAST($2 AS TEXT), CAST($3 AS BIGINT), CAST($4 AS TEXT), CAST($5 AS TEXT) \
     FROM puppet_run_counters c WHERE c.name = 'event' \
     AND NOT EXISTS (SELECT 1 FROM run_reports WHERE report_id = $1) \
     AND EXISTS (SELECT 1 FROM webhooks \
     WHERE enabled <> 0 AND events LIKE '%\"' || CAST($2 AS TEXT) || '\"%')";
const FROM: &str = events!("WHERE id >= $1 ORDER BY id LIMIT $2");
const LAST_ID: &str = "SELECT last FROM puppet_run_counters WHERE name = 'event'";
// Events that are too old or too many, and those that every webhook which names their types has
// told.
const PRUNE: &str = "DELETE FROM puppet_run_events WHERE id IN (SELECT id FROM puppet_run_events \
     WHERE at_ms < $1 \
     OR id <= (SELECT last - CAST($2 AS BIGINT) FROM puppet_run_counters WHERE name = 'event') \
     OR id < COALESCE((SELECT MIN(next_puppet_run_event) FROM webhooks WHERE enabled <> 0 \
     AND events LIKE '%\"puppet_run_%'), 9223372036854775807) ORDER BY id LIMIT $3)";

pub(crate) const STATEMENTS: &[&str] = &[TAKE, INSERT, FROM, LAST_ID, PRUNE];

/// The statements of an event, which come before the one that writes the report. They write nothing
/// if the report is known or no webhook names the type.
pub(crate) fn insert_statements<'a>(
    report_id: &'a str,
    certname: &'a str,
    received_ms: i64,
    event: &'a NewPuppetRunEvent,
) -> [SqlStatement<'a>; 2] {
    let kind = event.kind.as_str();
    let details = event.details.as_str();
    [
        SqlStatement::new(TAKE, values![report_id, kind]),
        SqlStatement::new(
            INSERT,
            values![report_id, kind, received_ms, certname, details],
        ),
    ]
}

// === impl Store ===

impl Store {
    /// Events of Puppet runs from `from_id` on, in ascending order.
    pub async fn puppet_run_events(
        &self,
        from_id: i64,
        limit: usize,
    ) -> Result<Vec<PuppetRunEventRow>, StoreError> {
        self.query(FROM, values![from_id, limit]).await
    }

    /// Id of the last event of any Puppet run; 0 if there was none.
    pub async fn last_puppet_run_event_id(&self) -> Result<i64, StoreError> {
        Ok(self.query_one(LAST_ID, Vec::new()).await?.unwrap_or(0))
    }

    /// Deletes events from before this time, all but the last `keep`, and those that were told, in
    /// small transactions. Returns their number.
    pub async fn prune_puppet_run_events(
        &self,
        before_ms: i64,
        keep: u64,
    ) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            match self
                .execute(PRUNE, values![before_ms, keep, PRUNE_ROWS])
                .await?
            {
                0 => return Ok(deleted),
                rows => deleted += rows,
            }
        }
    }
}
