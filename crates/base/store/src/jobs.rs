//! Jobs, and the history of their states.

use std::collections::BTreeMap;

use crate::job_order::{JobOrder, pages};
use crate::page::{ListPage, ordered_statement};
use crate::rows::row;
use crate::store::Store;
use crate::value::{ColumnError, ColumnReader, FromRow, SqlValue, ToValues as _, values};
use crate::write::{StoreWrite, WriteResult};
use crate::writing::jobs::NewJob;
use crate::{JobNumber, RunRow, StoreError};

row! {
    /// A stored job without its runs.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct JobRow {
        /// Number of the job.
        pub number: JobNumber,
        /// Command that requested the job, such as `task` or `deploy`.
        pub command: String,
        /// Type for filters: `task`, `deploy` or `plan_task`.
        pub kind: String,
        /// Name of the task; `None` for jobs without one.
        pub task: Option<String>,
        /// State of the job, such as `ready` or `running`.
        pub state: String,
        /// Name of the environment; may be empty.
        pub environment: String,
        /// Options of the request, as JSON.
        pub options: String,
        /// Login of the owner.
        pub owner: String,
        /// Description given by the user, as free text.
        pub description: String,
        /// Data given by the user, as JSON.
        pub userdata: String,
        /// Number of runs of the job.
        pub node_count: u64,
        /// Time at which the job was written, in milliseconds since 1970.
        pub created_ms: i64,
        /// Time at which the job became `running`, in milliseconds since 1970.
        pub started_ms: Option<i64>,
        /// Time at which the job ended, in milliseconds since 1970.
        pub finished_ms: Option<i64>,
        /// Time at which the job entered its state, in milliseconds since 1970.
        pub changed_ms: i64,
        /// Duration of the job in milliseconds, by a monotonic clock; `None` if the job is not over,
        /// or if the duration is not known.
        pub duration_ms: Option<i64>,
        /// Progress through the batches; `None` if the job has none.
        pub rollout: Option<RolloutRow> = rollout_columns!(),
    } read columns columns select jobs from "jobs"
}

row! {
    /// Progress of a job through its batches.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RolloutRow {
        /// Number of batches of the job.
        pub batches: u32,
        /// The batch that was started last, from 1.
        pub batch: u32,
        /// End of the current pause in milliseconds since 1970; `None` outside a pause.
        pub next_batch_ms: Option<i64>,
    } columns rollout_columns
}

row! {
    /// Number of runs of a batch that are in a state.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct BatchStateRow {
        /// The batch, from 1.
        pub batch: u32,
        /// State of the runs, such as `ready` or `running`.
        pub state: String,
        /// Number of runs in the state.
        pub count: u64 = "COUNT(*)",
    } read select batch_states from "runs"
}

row! {
    /// A state that a job entered.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct JobStateRow {
        /// Name of the state.
        pub state: String,
        /// Time of entry in milliseconds since 1970.
        pub enter_ms: i64,
    } read select job_states from "job_states"
}

/// A job that is not over, with the data needed to continue it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedJob {
    /// The stored row of the job.
    pub job: JobRow,
    /// Sealed parameters, as in [`NewJob::sealed`].
    pub sealed: Option<Vec<u8>>,
    /// Number of runs in each state, ended runs included.
    pub node_states: BTreeMap<String, u64>,
    /// The runs that are not over, by certname.
    pub runs: Vec<RunRow>,
}

row! {
    /// A job that is not over, with its sealed parameters.
    struct SealedJob {
        job: JobRow = columns!(),
        sealed: Option<Vec<u8>>,
    } read select sealed_jobs from "jobs"
}

row! {
    /// A job of Puppet runs that is not over.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OpenDeployRow {
        /// Number of the job.
        pub number: JobNumber,
        /// Name of the environment; may be empty.
        pub environment: String,
        /// Options of the request, as JSON.
        pub options: String,
    } read select open_deploys from "jobs"
}

/// Filter of a list of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobListFilter {
    /// `task`, `deploy` or `plan_task`.
    pub kind: Option<String>,
    /// Part of the task's name, case-sensitive.
    pub task: Option<String>,
    /// Login of the user who requested the job.
    pub owner: Option<String>,
    /// State of the job.
    pub state: Option<String>,
    /// Certname of a node of the job.
    pub certname: Option<String>,
    /// Earliest end of the job, inclusive, in milliseconds since 1970.
    pub min_finish_ms: Option<i64>,
    /// Latest end of the job, inclusive, in milliseconds since 1970.
    pub max_finish_ms: Option<i64>,
    /// Order of the list.
    pub order_by: JobOrder,
    /// True for the reverse order.
    pub descending: bool,
}

/// A part of a task's name is matched by removing it from the name: this is case-sensitive on both
/// engines, and nothing has to be escaped.
macro_rules! matching {
    () => {
        "WHERE pruned = 0 AND (CAST($1 AS TEXT) IS NULL OR kind = $1) \
         AND (CAST($2 AS TEXT) IS NULL OR REPLACE(task, $2, '') <> task) \
         AND (CAST($3 AS BIGINT) IS NULL OR finished_ms >= $3) \
         AND (CAST($4 AS BIGINT) IS NULL OR finished_ms <= $4) \
         AND (CAST($5 AS TEXT) IS NULL OR owner = $5) \
         AND (CAST($6 AS TEXT) IS NULL OR state = $6) \
         AND (CAST($7 AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM runs \
              WHERE runs.job = jobs.number AND runs.certname = $7))"
    };
}

macro_rules! page {
    ($order:literal) => {
        jobs!(matching!(), " ORDER BY ", $order, " LIMIT $8 OFFSET $9")
    };
}

const ONE: &str = jobs!("WHERE number = $1 AND pruned = 0");

const COUNT: &str = concat!("SELECT COUNT(*) FROM jobs ", matching!());

const HISTORY: &str = job_states!("WHERE job = $1 ORDER BY progress");

/// 4 is `JOB_OVER`, written literally so that the partial index is used.
const UNFINISHED: &str = sealed_jobs!("WHERE progress < 4 ORDER BY number");

const BATCH_STATES: &str = batch_states!(
    "WHERE job = $1 AND batch IS NOT NULL GROUP BY batch, state ORDER BY batch, state"
);

const OPEN_DEPLOYS: &str = open_deploys!("WHERE progress < 4 AND command = 'deploy'");

const PAGES: [(JobOrder, &str, &str); 5] = pages!(page);

pub(crate) const STATEMENTS: &[&str] = &[
    ONE,
    COUNT,
    HISTORY,
    UNFINISHED,
    OPEN_DEPLOYS,
    BATCH_STATES,
    PAGES[0].1,
    PAGES[0].2,
    PAGES[1].1,
    PAGES[1].2,
    PAGES[2].1,
    PAGES[2].2,
    PAGES[3].1,
    PAGES[3].2,
    PAGES[4].1,
    PAGES[4].2,
];

/// A job without batches has no number of them. A damaged current batch is 0, from which a job begins
/// with its first batch.
impl FromRow for Option<RolloutRow> {
    const COUNT: usize = 3;

    fn read(columns: &mut ColumnReader<'_>) -> Result<Self, ColumnError> {
        let (batches, batch): (Option<i64>, Option<i64>) = FromRow::read(columns)?;
        let next_batch_ms = FromRow::read(columns)?;
        let valid = |number: Option<i64>| number.and_then(|it| it.try_into().ok());
        Ok(batches.map(|batches| RolloutRow {
            batches: valid(Some(batches)).unwrap_or_default(),
            batch: valid(batch).unwrap_or_default(),
            next_batch_ms,
        }))
    }
}

// === impl Store ===

impl Store {
    /// Writes a job with its runs and events; on return it is durable. A failed call takes no
    /// number. After [`StoreError::OutcomeUnknown`], [`Store::inserted_job`] shows if the job was
    /// kept.
    pub async fn insert_job(&self, job: NewJob) -> Result<JobNumber, StoreError> {
        match self.write(StoreWrite::InsertJob(Box::new(job))).await? {
            WriteResult::Job(number) => Ok(number),
            other => unreachable!("an inserted job is answered with its number, not {other:?}"),
        }
    }

    /// The job of a transaction, if its insertion was kept: for use after [`Store::insert_job`]
    /// returned an unknown outcome. The answer is final.
    ///
    /// It waits for a commit of its own first. After that commit the older one is decided:
    /// PostgreSQL's old session has ended (it held the writer's lock), and in SQLite's log its
    /// space is taken.
    pub async fn inserted_job(
        &self,
        transaction_id: &str,
    ) -> Result<Option<JobNumber>, StoreError> {
        self.execute_all([]).await?;
        let run = self.run_by_transaction(transaction_id).await?;
        Ok(run.map(|run| run.job))
    }

    /// The job with this number.
    pub async fn job(&self, number: JobNumber) -> Result<Option<JobRow>, StoreError> {
        self.query_one(ONE, values![number]).await
    }

    /// One page of jobs, and the number of jobs without paging.
    pub async fn jobs(
        &self,
        filter: &JobListFilter,
        page: ListPage,
    ) -> Result<(Vec<JobRow>, u64), StoreError> {
        let mut values = filter.values();
        let total = self.count(COUNT, values.clone()).await?;
        page.add_to(&mut values);
        let rows = self.query(filter.sql(), values).await?;
        Ok((rows, total))
    }

    /// The states that a job entered, in chronological order.
    pub async fn job_states(&self, job: JobNumber) -> Result<Vec<JobStateRow>, StoreError> {
        self.query(HISTORY, values![job]).await
    }

    /// The number of runs in each state for each batch, by batch; empty for a job without batches.
    pub async fn batch_states(&self, job: JobNumber) -> Result<Vec<BatchStateRow>, StoreError> {
        self.query(BATCH_STATES, values![job]).await
    }

    /// The requests of all jobs of Puppet runs that are not over.
    pub async fn open_deploys(&self) -> Result<Vec<OpenDeployRow>, StoreError> {
        self.query(OPEN_DEPLOYS, Vec::new()).await
    }

    /// All jobs that are not over, by number, as a starting server needs them.
    pub async fn unfinished_jobs(&self) -> Result<Vec<UnfinishedJob>, StoreError> {
        let rows: Vec<SealedJob> = self.query(UNFINISHED, Vec::new()).await?;
        let numbers: Vec<JobNumber> = rows.iter().map(|row| row.job.number).collect();
        let mut states = self.node_states(&numbers).await?;
        let mut open: BTreeMap<JobNumber, Vec<RunRow>> = BTreeMap::new();
        for run in self.unfinished_runs().await? {
            open.entry(run.job).or_default().push(run);
        }
        let unfinished = rows
            .into_iter()
            .map(|SealedJob { job, sealed }| UnfinishedJob {
                node_states: states.remove(&job.number).unwrap_or_default(),
                runs: open.remove(&job.number).unwrap_or_default(),
                job,
                sealed,
            });
        Ok(unfinished.collect())
    }
}

// === impl JobListFilter ===

impl JobListFilter {
    fn values(&self) -> Vec<SqlValue<'_>> {
        // An empty text is part of every name.
        let task = self.task.as_deref().filter(|part| !part.is_empty());
        values![
            self.kind,
            task,
            self.min_finish_ms,
            self.max_finish_ms,
            self.owner,
            self.state,
            self.certname,
        ]
    }

    fn sql(&self) -> &'static str {
        ordered_statement(&PAGES, self.order_by, self.descending)
    }
}
