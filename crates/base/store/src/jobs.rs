//! Jobs, and the history of their states.

use std::collections::BTreeMap;

use crate::job_order::{JobOrder, pages};
use crate::page::{ListPage, ordered_statement};
use crate::store::Store;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};
use crate::write::{StoreWrite, WriteResult};
use crate::writing::jobs::NewJob;
use crate::{JobNumber, RunRow, StoreError};

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
    /// Duration of the job in milliseconds, by a monotonic clock; `None` if the job is not over, or
    /// if the duration is not known.
    pub duration_ms: Option<i64>,
    /// Progress through the batches; `None` if the job has none.
    pub rollout: Option<RolloutRow>,
}

/// Progress of a job through its batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolloutRow {
    /// Number of batches of the job.
    pub batches: u32,
    /// The batch that was started last, from 1.
    pub batch: u32,
    /// End of the current pause in milliseconds since 1970; `None` outside a pause.
    pub next_batch_ms: Option<i64>,
}

/// Number of runs of a batch that are in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchStateRow {
    /// The batch, from 1.
    pub batch: u32,
    /// State of the runs, such as `ready` or `running`.
    pub state: String,
    /// Number of runs in the state.
    pub count: u64,
}

/// A state that a job entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStateRow {
    /// Name of the state.
    pub state: String,
    /// Time of entry in milliseconds since 1970.
    pub enter_ms: i64,
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

/// A job of Puppet runs that is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDeployRow {
    /// Number of the job.
    pub number: JobNumber,
    /// Name of the environment; may be empty.
    pub environment: String,
    /// Options of the request, as JSON.
    pub options: String,
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

/// The columns of [`JobRow`], in its order.
macro_rules! columns {
    () => {
        "number, command, kind, task, state, environment, options, owner, description, userdata, \
         node_count, created_ms, started_ms, finished_ms, changed_ms, duration_ms, batches, \
         batch, next_batch_ms"
    };
}

/// A part of a task's name is matched by removing it from the name: this is case-sensitive on both
/// engines, and nothing has to be escaped.
macro_rules! matching {
    () => {
        " FROM jobs WHERE pruned = 0 AND (CAST($1 AS TEXT) IS NULL OR kind = $1) \
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
        concat!(
            "SELECT ",
            columns!(),
            matching!(),
            " ORDER BY ",
            $order,
            " LIMIT $8 OFFSET $9"
        )
    };
}

const ONE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM jobs WHERE number = $1 AND pruned = 0"
);

const COUNT: &str = concat!("SELECT COUNT(*)", matching!());

const HISTORY: &str = "SELECT state, enter_ms FROM job_states WHERE job = $1 ORDER BY progress";

/// 4 is `JOB_OVER`, written literally so that the partial index is used.
const UNFINISHED: &str = concat!(
    "SELECT ",
    columns!(),
    ", sealed FROM jobs WHERE progress < 4 ORDER BY number"
);

const BATCH_STATES: &str = "SELECT batch, state, COUNT(*) FROM runs WHERE job = $1 \
     AND batch IS NOT NULL GROUP BY batch, state ORDER BY batch, state";

const OPEN_DEPLOYS: &str =
    "SELECT number, environment, options FROM jobs WHERE progress < 4 AND command = 'deploy'";

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
        self.execute_all(Vec::new()).await?;
        let run = self.run_by_transaction(transaction_id).await?;
        Ok(run.map(|run| run.job))
    }

    /// The job with this number.
    pub async fn job(&self, number: JobNumber) -> Result<Option<JobRow>, StoreError> {
        self.query_one(ONE, vec![SqlValue::Int(number.get())]).await
    }

    /// One page of jobs, and the number of jobs without paging.
    pub async fn jobs(
        &self,
        filter: &JobListFilter,
        page: ListPage,
    ) -> Result<(Vec<JobRow>, u64), StoreError> {
        let mut values = filter.values();
        let total: Option<i64> = self.query_one(COUNT, values.clone()).await?;
        values.extend([
            SqlValue::Int(page.limit_column()),
            SqlValue::Int(page.offset_column()),
        ]);
        let rows = self.query(filter.sql(), values).await?;
        Ok((rows, total.unwrap_or(0).unsigned_abs()))
    }

    /// The states that a job entered, in chronological order.
    pub async fn job_states(&self, job: JobNumber) -> Result<Vec<JobStateRow>, StoreError> {
        self.query(HISTORY, vec![SqlValue::Int(job.get())]).await
    }

    /// The number of runs in each state for each batch, by batch; empty for a job without batches.
    pub async fn batch_states(&self, job: JobNumber) -> Result<Vec<BatchStateRow>, StoreError> {
        self.query(BATCH_STATES, vec![SqlValue::Int(job.get())])
            .await
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
    fn values(&self) -> Vec<SqlValue<'static>> {
        // An empty text is part of every name.
        let task = self.task.as_deref().filter(|part| !part.is_empty());
        vec![
            SqlValue::opt_owned_text(self.kind.as_deref()),
            SqlValue::opt_owned_text(task),
            SqlValue::opt_int(self.min_finish_ms),
            SqlValue::opt_int(self.max_finish_ms),
            SqlValue::opt_owned_text(self.owner.as_deref()),
            SqlValue::opt_owned_text(self.state.as_deref()),
            SqlValue::opt_owned_text(self.certname.as_deref()),
        ]
    }

    fn sql(&self) -> &'static str {
        ordered_statement(&PAGES, self.order_by, self.descending)
    }
}

// === impl rows ===

struct SealedJob {
    job: JobRow,
    sealed: Option<Vec<u8>>,
}

impl FromRow for SealedJob {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            job: JobRow::from_row(row)?,
            sealed: row.opt_blob(19)?,
        })
    }
}

impl FromRow for OpenDeployRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            number: JobNumber::from_column(row.int(0)?),
            environment: row.text(1)?,
            options: row.text(2)?,
        })
    }
}

impl FromRow for JobRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            number: JobNumber::from_column(row.int(0)?),
            command: row.text(1)?,
            kind: row.text(2)?,
            task: row.opt_text(3)?,
            state: row.text(4)?,
            environment: row.text(5)?,
            options: row.text(6)?,
            owner: row.text(7)?,
            description: row.text(8)?,
            userdata: row.text(9)?,
            node_count: row.int(10)?.unsigned_abs(),
            created_ms: row.int(11)?,
            started_ms: row.opt_int(12)?,
            finished_ms: row.opt_int(13)?,
            changed_ms: row.int(14)?,
            duration_ms: row.opt_int(15)?,
            rollout: rollout(row)?,
        })
    }
}

fn rollout(row: &dyn RowColumns) -> Result<Option<RolloutRow>, ColumnError> {
    let (batches, batch) = (row.opt_int(16)?, row.opt_int(17)?);
    let next_batch_ms = row.opt_int(18)?;
    Ok(batches.zip(batch).map(|(batches, batch)| RolloutRow {
        batches: batches.try_into().unwrap_or_default(),
        batch: batch.try_into().unwrap_or_default(),
        next_batch_ms,
    }))
}

impl FromRow for BatchStateRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            batch: row.int(0)?.try_into().unwrap_or_default(),
            state: row.text(1)?,
            count: row.int(2)?.unsigned_abs(),
        })
    }
}

impl FromRow for JobStateRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            state: row.text(0)?,
            enter_ms: row.int(1)?,
        })
    }
}
