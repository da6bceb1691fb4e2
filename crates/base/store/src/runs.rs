//! Runs: the work of a job on one node.

use std::collections::BTreeMap;

use crate::defaults::RUNS_TOGETHER;
use crate::rows::row;
use crate::store::Store;
use crate::value::{SqlValue, values};
use crate::{JobNumber, StoreError};

row! {
    /// A stored run: the work of a job on one node.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RunRow {
        /// Number of the job.
        pub job: JobNumber,
        /// Certname of the node.
        pub certname: String,
        /// Transaction id, random and unique over all time.
        pub transaction_id: String,
        /// State of the run, such as `ready`, `running` or `finished`.
        pub state: String,
        /// Time at which the run became `running`, in milliseconds since 1970.
        pub started_ms: Option<i64>,
        /// Time at which the run ended, in milliseconds since 1970.
        pub finished_ms: Option<i64>,
        /// Duration of the run in milliseconds, by a monotonic clock; `None` if the run is not over,
        /// or if the duration is not known.
        pub duration_ms: Option<i64>,
        /// Details of the run, as JSON.
        pub details: Option<String>,
        /// Result of the run, as JSON.
        pub result: Option<String>,
        /// Id of its last event; 0 if it has none yet.
        pub latest_event_id: i64,
        /// Batch of the run, counted from 1; `None`: its job has no batches.
        pub batch: Option<u32>,
    } read select runs from "runs"
}

/// Reads the runs on [`RUNS_TOGETHER`] named nodes.
const NAMED: &str = runs!(
    "WHERE job = $1 AND certname IN ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, \
     $13, $14, $15, $16, $17)"
);

const BY_TRANSACTION: &str = runs!("WHERE transaction_id = $1");

const ONE: &str = runs!("WHERE job = $1 AND certname = $2");

const AFTER: &str = runs!("WHERE job = $1 AND certname > $2 ORDER BY certname LIMIT $3");

/// 3 is `RUN_OVER`, written literally so that the partial index is used.
const UNFINISHED: &str = runs!("WHERE progress < 3 ORDER BY job, certname");

const STATES: &str = "SELECT job, state, COUNT(*) FROM runs WHERE job >= $1 AND job <= $2 \
     GROUP BY job, state";

/// The counts that were stored when the jobs ended.
const SUMMED_UP: &str = "SELECT number, run_states FROM jobs WHERE number >= $1 AND number <= $2 \
     AND run_states IS NOT NULL";

pub(crate) const STATEMENTS: &[&str] = &[
    SUMMED_UP,
    NAMED,
    BY_TRANSACTION,
    ONE,
    AFTER,
    UNFINISHED,
    STATES,
];

// === impl Store ===

impl Store {
    /// The runs on the first [`RUNS_TOGETHER`] of these nodes, in the order of the names. A node
    /// without a run (of a job that was deleted meanwhile) is left out.
    pub async fn runs_named(
        &self,
        job: JobNumber,
        names: &[String],
    ) -> Result<Vec<RunRow>, StoreError> {
        let names = &names[..names.len().min(RUNS_TOGETHER)];
        let mut values = values![job];
        values.extend(names.iter().map(|name| SqlValue::text(name)));
        values.resize(1 + RUNS_TOGETHER, SqlValue::Null);
        let mut rows: Vec<RunRow> = self.query(NAMED, values).await?;
        rows.sort_by_key(|row| names.iter().position(|name| *name == row.certname));
        Ok(rows)
    }

    /// The first `limit` runs on nodes after this certname, by certname and with results: for
    /// callers that read all runs.
    pub async fn runs_after(
        &self,
        job: JobNumber,
        certname: &str,
        limit: usize,
    ) -> Result<Vec<RunRow>, StoreError> {
        self.query(AFTER, values![job, certname, limit]).await
    }

    /// The run of a job on one node.
    pub async fn run(&self, job: JobNumber, certname: &str) -> Result<Option<RunRow>, StoreError> {
        self.query_one(ONE, values![job, certname]).await
    }

    /// The run with this transaction id.
    pub async fn run_by_transaction(
        &self,
        transaction_id: &str,
    ) -> Result<Option<RunRow>, StoreError> {
        self.query_one(BY_TRANSACTION, values![transaction_id])
            .await
    }

    /// The number of runs in each state, for each of the jobs; a job without runs is left out.
    pub async fn node_states(
        &self,
        jobs: &[JobNumber],
    ) -> Result<BTreeMap<JobNumber, BTreeMap<String, u64>>, StoreError> {
        let mut states: BTreeMap<JobNumber, BTreeMap<String, u64>> = BTreeMap::new();
        for (first, last) in ranges(jobs) {
            let sums: Vec<(JobNumber, String)> =
                self.query(SUMMED_UP, values![first, last]).await?;
            states.extend(sums.iter().map(|(job, sums)| (*job, parse_counts(sums))));
        }
        let open = jobs.iter().filter(|job| !states.contains_key(job));
        let open: Vec<JobNumber> = open.copied().collect();
        for (first, last) in ranges(&open) {
            let rows: Vec<(JobNumber, (String, u64))> =
                self.query(STATES, values![first, last]).await?;
            for (job, (state, count)) in rows {
                states.entry(job).or_default().insert(state, count);
            }
        }
        Ok(states)
    }

    pub(crate) async fn unfinished_runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.query(UNFINISHED, Vec::new()).await
    }
}

/// Ranges of consecutive numbers, each for one query: a page of a list is mostly one range.
fn ranges(jobs: &[JobNumber]) -> Vec<(i64, i64)> {
    let mut numbers: Vec<i64> = jobs.iter().map(|job| job.get()).collect();
    numbers.sort_unstable();
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if number - *last <= 1 => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}

/// Reads counts such as `finished:9,failed:1`.
fn parse_counts(text: &str) -> BTreeMap<String, u64> {
    let counts = text.split(',').filter_map(|count| count.split_once(':'));
    let counts = counts.filter_map(|(state, count)| Some((state.to_owned(), count.parse().ok()?)));
    counts.collect()
}
