//! The rows of events of plan jobs: [`NewPlanEvent`].
//!
//! Invariant: an event is written only while its plan job runs, and its id comes from a counter that
//! is incremented in the same transaction, so no id is skipped or used again.

use crate::rows::row;
use crate::statement::SqlStatement;
use crate::value::values;

row! {
    /// An event of a plan job that is not written yet.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct NewPlanEvent {
        /// Type of the event, such as `task_start`, `out_message` or `plan_finished`.
        pub kind: String,
        /// Time of the event in milliseconds since 1970.
        pub at_ms: i64,
        /// Details of the event, as JSON.
        pub details: String,
        /// Text shown to users.
        pub message: String,
    } write columns new_columns
}

const TAKE: &str = "UPDATE plan_counters SET last = last + 1 WHERE name = 'event' \
     AND EXISTS (SELECT 1 FROM plan_jobs WHERE number = $1 AND state = 'running')";
const INSERT: &str = concat!(
    "INSERT INTO plan_events (id, plan_job, ",
    new_columns!(),
    ") SELECT c.last, p.number, CAST($2 AS TEXT), CAST($3 AS BIGINT), CAST($4 AS TEXT), \
     CAST($5 AS TEXT) FROM plan_counters c, plan_jobs p \
     WHERE c.name = 'event' AND p.number = $1 AND p.state = 'running'"
);
pub(crate) const STATEMENTS: &[&str] = &[TAKE, INSERT];

/// The statements of an event, which write nothing if the plan job is over.
pub(crate) fn insert_statements(plan_job: i64, event: &NewPlanEvent) -> [SqlStatement<'_>; 2] {
    [
        SqlStatement::new(TAKE, values![plan_job]),
        SqlStatement::new(INSERT, values![plan_job, event]),
    ]
}
