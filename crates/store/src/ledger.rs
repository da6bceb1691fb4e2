//! The one row from which job numbers and event ids are taken.
//!
//! [`Ledger`] is read (and on PostgreSQL locked) by the first statement of every writing
//! transaction and written by its last. Numbers taken by a transaction that fails are therefore
//! not taken, and ids become visible in ascending order.

use crate::JobNumber;
use crate::value::{ColumnError, Columns, FromRow};

/// Opens the books of one transaction.
pub(crate) const BEGIN: &str =
    "UPDATE ledger SET commits = commits + 1 WHERE id = 1 RETURNING job, event, commits, epoch";

/// Writes back what was taken.
pub(crate) const END: &str = "UPDATE ledger SET job = $1, event = $2 WHERE id = 1";

/// A server process starts.
pub(crate) const NEW_EPOCH: &str =
    "UPDATE ledger SET epoch = epoch + 1 WHERE id = 1 RETURNING job, event, commits, epoch";

pub(crate) const STATEMENTS: &[&str] = &[BEGIN, END, NEW_EPOCH];

/// What was given out last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(crate) job: i64,
    pub(crate) event: i64,
    /// Transactions so far: tells whether a commit whose answer was lost took place.
    pub(crate) commits: i64,
    /// Starts of server processes so far: tells whether another one was here meanwhile.
    pub(crate) epoch: i64,
}

impl Ledger {
    pub(crate) fn next_job(&mut self) -> JobNumber {
        self.job += 1;
        JobNumber::from_column(self.job)
    }

    pub(crate) fn next_event(&mut self) -> i64 {
        self.event += 1;
        self.event
    }
}

impl FromRow for Ledger {
    fn from_row(row: &dyn Columns) -> Result<Self, ColumnError> {
        Ok(Self {
            job: row.int(0)?,
            event: row.int(1)?,
            commits: row.int(2)?,
            epoch: row.int(3)?,
        })
    }
}
