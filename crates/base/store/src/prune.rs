//! Deletion of jobs that ended long ago.
//!
//! [`Store::prune_jobs`] first hides jobs and then deletes their rows, in small transactions
//! between which other writes continue. Invariant: a job is visible completely or not at all, and
//! no number or id is used again.

use crate::StoreError;
use crate::defaults::{PRUNE_JOBS, PRUNE_ROWS, REGULAR_JOBS};
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

/// Numbers of deleted rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrunedRows {
    /// Number of deleted jobs.
    pub jobs: u64,
    /// Number of deleted events, of any jobs.
    pub events: u64,
    /// Number of deleted runs, of any jobs.
    pub runs: u64,
}

/// 4 is `JOB_OVER`. A job of a plan that is not over stays, since the plan may still need its
/// results.
const HIDE: &str = "UPDATE jobs SET pruned = 1 WHERE number IN (SELECT number FROM jobs \
     WHERE pruned = 0 AND progress = 4 AND finished_ms < $1 AND NOT EXISTS \
     (SELECT 1 FROM plan_journal j JOIN plan_jobs p ON p.number = j.plan_job \
     WHERE j.job = jobs.number AND p.state = 'running') ORDER BY number LIMIT $2)";

/// Regular runs of Puppet of which there are so many later ones: jobs that a schedule started and whose options have a
/// splay. (Within a text of the options, a quotation mark is escaped.) Those of a fleet every 30 minutes would otherwise be
/// most of the database. `$1` is counted from 0.
const HIDE_REGULAR: &str = "UPDATE jobs SET pruned = 1 WHERE number IN (SELECT jobs.number FROM \
     schedule_launches l JOIN jobs ON jobs.number = l.job WHERE jobs.pruned = 0 AND jobs.progress = 4 \
     AND jobs.command = 'deploy' AND jobs.options LIKE '%,\"splay\":%' \
     AND l.slot_ms <= (SELECT later.slot_ms FROM schedule_launches later \
     WHERE later.schedule = l.schedule ORDER BY later.slot_ms DESC LIMIT 1 OFFSET $1) \
     ORDER BY jobs.number LIMIT $2)";

const EVENTS: &str = "DELETE FROM events WHERE id IN (SELECT events.id FROM jobs \
     JOIN events ON events.job = jobs.number WHERE jobs.pruned = 1 LIMIT $1)";

const RUNS: &str = "DELETE FROM runs WHERE (job, certname) IN (SELECT runs.job, runs.certname \
     FROM jobs JOIN runs ON runs.job = jobs.number WHERE jobs.pruned = 1 LIMIT $1)";

const STATES: &str = "DELETE FROM job_states WHERE job IN (SELECT number FROM jobs \
     WHERE pruned = 1)";

const JOBS: &str = "DELETE FROM jobs WHERE pruned = 1";

pub(crate) const STATEMENTS: &[&str] = &[HIDE, HIDE_REGULAR, EVENTS, RUNS, STATES, JOBS];

impl Store {
    /// Deletes jobs that ended before `older_than_ms`, and those of regular Puppet runs that have
    /// [`REGULAR_JOBS`] later ones of the same schedule, with their runs and events. If the future is dropped,
    /// hidden rows remain for the next call.
    pub async fn prune_jobs(&self, older_than_ms: i64) -> Result<PrunedRows, StoreError> {
        let mut pruned = PrunedRows::default();
        loop {
            let old = self.execute(HIDE, values![older_than_ms, PRUNE_JOBS]);
            let hidden = old.await?;
            let regular = values![REGULAR_JOBS, PRUNE_JOBS];
            let hidden = hidden + self.execute(HIDE_REGULAR, regular).await?;
            pruned.events += self.delete_all(EVENTS).await?;
            pruned.runs += self.delete_all(RUNS).await?;
            // At most twice PRUNE_JOBS of both remain, in one transaction: a job is never left without
            // its history.
            let steps = [STATES, JOBS].map(|sql| SqlStatement::new(sql, Vec::new()));
            let rows = self.execute_all(steps).await?;
            pruned.jobs += rows.last().copied().unwrap_or(0);
            if hidden == 0 {
                return Ok(pruned);
            }
        }
    }

    async fn delete_all(&self, sql: &'static str) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            match self.execute(sql, values![PRUNE_ROWS]).await? {
                0 => return Ok(deleted),
                rows => deleted += rows,
            }
        }
    }
}
