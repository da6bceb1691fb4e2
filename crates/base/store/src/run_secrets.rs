//! Sensitive output of nodes, sealed: [`RunSecret`].
//!
//! Invariants: a secret is written with the end of its run, and only for a plan that may still read
//! it; it is deleted when that plan ends successfully, and with the job. A failed plan may be
//! resumed later, so its secrets stay until its jobs are deleted.

use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;
use crate::{JobNumber, StoreError};

row! {
    /// Sensitive output of a node.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RunSecret {
        /// Certname of the node.
        pub certname: String,
        /// The sealed output, as in [`RunChange::sealed`](crate::RunChange::sealed).
        pub sealed: Vec<u8>,
    } read select secrets from "runs"
}

const READ: &str = secrets!(
    "WHERE job = $1 AND certname >= $2 AND certname <= $3 AND sealed IS NOT NULL ORDER BY certname"
);

/// The secrets of a running plan job that is about to end successfully.
const FORGET: &str = "UPDATE runs SET sealed = NULL WHERE sealed IS NOT NULL AND job IN \
     (SELECT s.job FROM plan_steps s JOIN plan_jobs p ON p.number = s.plan_job \
     WHERE s.plan_job = $1 AND p.state = 'running')";

pub(crate) const STATEMENTS: &[&str] = &[READ, FORGET];

/// Deletes all secrets of the runs of this plan.
pub(crate) fn delete_secrets_statement(plan_job: i64) -> SqlStatement<'static> {
    SqlStatement::new(FORGET, values![plan_job])
}

// === impl Store ===

impl Store {
    /// The secrets of a job's nodes from `first` to `last`, by certname. Both are certnames of the
    /// job's nodes, so there are no more secrets than nodes between them.
    pub async fn run_secrets(
        &self,
        job: JobNumber,
        first: &str,
        last: &str,
    ) -> Result<Vec<RunSecret>, StoreError> {
        self.query(READ, values![job, first, last]).await
    }
}
