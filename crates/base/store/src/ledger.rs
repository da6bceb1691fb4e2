//! The single row from which job numbers, event ids and positions in the audit chain are allocated.
//!
//! [`NumberLedger`] is read (and on PostgreSQL locked) by the first statement of every writing
//! transaction and written by its last. A transaction that fails therefore uses no numbers, ids
//! become visible in ascending order, and each entry of the audit chain follows the one that was
//! committed before it.

use crate::JobNumber;
use crate::rows::row;

row! {
    /// The last numbers that were allocated.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct NumberLedger {
        pub(crate) job: i64,
        pub(crate) event: i64,
        /// Number of transactions so far: shows if a commit whose answer was lost took place.
        pub(crate) commits: i64,
        /// Number of starts of server processes so far: shows if another one wrote meanwhile.
        pub(crate) epoch: i64,
        /// Number of the last entry of the audit chain; 0: the chain is empty.
        pub(crate) audit: i64,
        /// Hash of that entry.
        pub(crate) audit_hash: [u8; 32],
    } read columns columns select ledger from "ledger"
}

/// Counts the transaction and reads the ledger.
pub(crate) const BEGIN: &str = concat!(
    "UPDATE ledger SET commits = commits + 1 WHERE id = 1 RETURNING ",
    columns!()
);

/// Writes the ledger back.
pub(crate) const END: &str =
    "UPDATE ledger SET job = $1, event = $2, audit = $3, audit_hash = $4 WHERE id = 1";

/// Starts the epoch of a server process: it is above that of the database, and above $1.
pub(crate) const NEW_EPOCH: &str = concat!(
    "UPDATE ledger SET epoch = CASE WHEN epoch < CAST($1 AS BIGINT) THEN CAST($1 AS BIGINT) \
     ELSE epoch END + 1 WHERE id = 1 RETURNING ",
    columns!()
);

/// Reads the ledger without changing it.
pub(crate) const READ: &str = ledger!("WHERE id = 1");

/// Reads the random identity of the database.
pub(crate) const IDENTITY: &str = "SELECT identity FROM ledger WHERE id = 1";

pub(crate) const STATEMENTS: &[&str] = &[BEGIN, END, NEW_EPOCH, READ, IDENTITY];

impl NumberLedger {
    pub(crate) fn next_job(&mut self) -> JobNumber {
        self.job += 1;
        JobNumber::from_column(self.job)
    }

    pub(crate) fn next_event(&mut self) -> i64 {
        self.event += 1;
        self.event
    }
}
