//! Reports that programs have not processed yet: [`ReportProcessingRow`].
//!
//! Invariants: a row is written in the transaction that writes the report, once for each run; its
//! position comes from a counter that is incremented in the same transaction, so rows appear in the
//! order of their positions.

use crate::StoreError;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

row! {
    /// A report that waits for a program.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ReportProcessingRow {
        /// Position in the queue, ascending.
        pub position: i64,
        /// Path of the program.
        pub program: String,
        /// Id of the report.
        pub report_id: String,
        /// Time at which the report arrived, in milliseconds since 1970.
        pub queued_ms: i64,
    } read select waiting from "report_processing"
}

// A report that arrives again is in the table already, and is not processed again.
const TAKE: &str = "UPDATE puppet_run_counters SET last = last + 1 WHERE name = 'processing' \
     AND NOT EXISTS (SELECT 1 FROM run_reports WHERE report_id = $1)";
const INSERT: &str = "INSERT INTO report_processing (position, report_id, program, queued_ms) \
     SELECT c.last, CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS BIGINT) \
     FROM puppet_run_counters c WHERE c.name = 'processing' \
     AND NOT EXISTS (SELECT 1 FROM run_reports WHERE report_id = $1)";
const AFTER: &str = waiting!("WHERE position > $1 ORDER BY position LIMIT $2");
const DELETE: &str = "DELETE FROM report_processing WHERE position = $1";
const COUNT: &str = "SELECT COUNT(*) FROM report_processing";
const DROP_FIRST: &str = "DELETE FROM report_processing WHERE position IN \
     (SELECT position FROM report_processing ORDER BY position LIMIT $1)";

pub(crate) const STATEMENTS: &[&str] = &[TAKE, INSERT, AFTER, DELETE, COUNT, DROP_FIRST];

/// The statements that queue a report for a program, which come before the one that writes the
/// report. They write nothing if the report is known.
pub(crate) fn insert_statements<'a>(
    report_id: &'a str,
    program: &'a str,
    queued_ms: i64,
) -> [SqlStatement<'a>; 2] {
    [
        SqlStatement::new(TAKE, values![report_id]),
        SqlStatement::new(INSERT, values![report_id, program, queued_ms]),
    ]
}

// === impl Store ===

impl Store {
    /// Waiting reports after a position, in order.
    pub async fn reports_to_process(
        &self,
        after: i64,
        limit: u64,
    ) -> Result<Vec<ReportProcessingRow>, StoreError> {
        self.query(AFTER, values![after, limit]).await
    }

    /// Removes a report from the queue.
    pub async fn delete_report_to_process(&self, position: i64) -> Result<(), StoreError> {
        self.execute(DELETE, values![position]).await.map(drop)
    }

    /// Number of waiting reports.
    pub async fn count_reports_to_process(&self) -> Result<u64, StoreError> {
        let count: Option<i64> = self.query_one(COUNT, Vec::new()).await?;
        Ok(count.unwrap_or(0).unsigned_abs())
    }

    /// Removes the first reports of the queue. Returns their number.
    pub async fn drop_first_reports_to_process(&self, count: u64) -> Result<u64, StoreError> {
        self.execute(DROP_FIRST, values![count]).await
    }
}
