//! Usage by day: the number of nodes on which something ran, and the changes made by Puppet.
//!
//! [`UsageRow`] is one day. Invariant: days are those of UTC, and a run belongs to the day on which
//! it started.

use crate::StoreError;
use crate::rows::row;
use crate::store::Store;
use crate::value::values;

row! {
    /// Usage on a day on which something ran.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct UsageRow {
        /// Number of the day, counted from 1970-01-01.
        pub day: i64 = "r.started_ms / 86400000",
        /// Number of nodes on which anything ran.
        pub nodes: u64 = "COUNT(DISTINCT r.certname)",
        /// Number of those nodes that have a connection, and therefore no agent.
        pub without_agent: u64 = "COUNT(DISTINCT c.certname)",
        /// Number of resources that Puppet runs of jobs restored after a change outside Puppet.
        pub corrective: u64 = "CAST(COALESCE(SUM(CASE WHEN j.kind = 'deploy' \
            THEN r.corrective END), 0) AS BIGINT)",
        /// Number of resources that Puppet runs of jobs changed for any other reason.
        pub intentional: u64 = "CAST(COALESCE(SUM(CASE WHEN j.kind = 'deploy' \
            THEN r.intentional END), 0) AS BIGINT)",
        /// Number of nodes on which a task ran.
        pub tasks: u64 = "COUNT(DISTINCT CASE WHEN j.kind = 'task' THEN r.certname END)",
        /// Number of nodes on which a step of a plan ran.
        pub plans: u64 = "COUNT(DISTINCT CASE WHEN j.kind = 'plan_task' THEN r.certname END)",
    } read select usage from "runs r JOIN jobs j ON j.number = r.job \
        LEFT JOIN connection_nodes c ON c.certname = r.certname"
}

const BY_DAY: &str = usage!(
    "WHERE j.pruned = 0 AND r.started_ms >= $1 AND r.started_ms < $2 \
     GROUP BY r.started_ms / 86400000 ORDER BY 1 DESC"
);

pub(crate) const STATEMENTS: &[&str] = &[BY_DAY];

impl Store {
    /// The days from `from_ms` (inclusive) to `to_ms` (exclusive) on which something ran, newest
    /// first. It reads every run, so it is too expensive for frequent calls.
    pub async fn usage(&self, from_ms: i64, to_ms: i64) -> Result<Vec<UsageRow>, StoreError> {
        self.query(BY_DAY, values![from_ms, to_ms]).await
    }
}
