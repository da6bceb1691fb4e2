//! Usage by day: the number of nodes on which something ran, and the changes made by Puppet.
//!
//! [`UsageRow`] is one day. Invariant: days are those of UTC, and a run belongs to the day on which
//! it started.

use crate::StoreError;
use crate::store::Store;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};

/// Usage on a day on which something ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageRow {
    /// Number of the day, counted from 1970-01-01.
    pub day: i64,
    /// Number of nodes on which anything ran.
    pub nodes: u64,
    /// Number of those nodes that have a connection, and therefore no agent.
    pub without_agent: u64,
    /// Number of resources that Puppet runs of jobs restored after a change outside Puppet.
    pub corrective: u64,
    /// Number of resources that Puppet runs of jobs changed for any other reason.
    pub intentional: u64,
    /// Number of nodes on which a task ran.
    pub tasks: u64,
    /// Number of nodes on which a step of a plan ran.
    pub plans: u64,
}

const BY_DAY: &str = "SELECT r.started_ms / 86400000, COUNT(DISTINCT r.certname), \
     COUNT(DISTINCT c.certname), \
     CAST(COALESCE(SUM(CASE WHEN j.kind = 'deploy' THEN r.corrective END), 0) AS BIGINT), \
     CAST(COALESCE(SUM(CASE WHEN j.kind = 'deploy' THEN r.intentional END), 0) AS BIGINT), \
     COUNT(DISTINCT CASE WHEN j.kind = 'task' THEN r.certname END), \
     COUNT(DISTINCT CASE WHEN j.kind = 'plan_task' THEN r.certname END) \
     FROM runs r JOIN jobs j ON j.number = r.job \
     LEFT JOIN connection_nodes c ON c.certname = r.certname \
     WHERE j.pruned = 0 AND r.started_ms >= $1 AND r.started_ms < $2 \
     GROUP BY r.started_ms / 86400000 ORDER BY 1 DESC";

pub(crate) const STATEMENTS: &[&str] = &[BY_DAY];

impl Store {
    /// The days from `from_ms` (inclusive) to `to_ms` (exclusive) on which something ran, newest
    /// first. It reads every run, so it is too expensive for frequent calls.
    pub async fn usage(&self, from_ms: i64, to_ms: i64) -> Result<Vec<UsageRow>, StoreError> {
        let values = [from_ms, to_ms].map(SqlValue::Int).to_vec();
        self.query(BY_DAY, values).await
    }
}

impl FromRow for UsageRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            day: row.int(0)?,
            nodes: row.int(1)?.unsigned_abs(),
            without_agent: row.int(2)?.unsigned_abs(),
            corrective: row.int(3)?.unsigned_abs(),
            intentional: row.int(4)?.unsigned_abs(),
            tasks: row.int(5)?.unsigned_abs(),
            plans: row.int(6)?.unsigned_abs(),
        })
    }
}
