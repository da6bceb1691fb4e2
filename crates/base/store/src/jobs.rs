//! Jobs, and the history of their states.

use std::collections::BTreeMap;

use crate::job_order::{JobOrder, pages};
use crate::page::{Page, ordered};
use crate::store::Store;
use crate::value::{ColumnError, Columns, FromRow, Value};
use crate::write::{Write, Written};
use crate::writing::jobs::NewJob;
use crate::{JobNumber, RunRow, StoreError};

/// A job as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRow {
    /// Its name.
    pub number: JobNumber,
    /// `task`, `deploy`, …
    pub command: String,
    /// `task`, `deploy` or `plan_task`.
    pub kind: String,
    /// The task's name.
    pub task: Option<String>,
    /// `ready`, `running`, …
    pub state: String,
    /// May be empty.
    pub environment: String,
    /// JSON.
    pub options: String,
    /// The owner's login.
    pub owner: String,
    /// Free text.
    pub description: String,
    /// JSON.
    pub userdata: String,
    /// How many runs.
    pub node_count: u64,
    /// When it was written.
    pub created_ms: i64,
    /// When it became `running`.
    pub started_ms: Option<i64>,
    /// When it ended.
    pub finished_ms: Option<i64>,
    /// When it entered its state.
    pub changed_ms: i64,
    /// Time that it took, in milliseconds by a clock that is never set; `None` if it is not over, or if that is
    /// not known.
    pub duration_ms: Option<i64>,
    /// Progress through its batches; `None` if it has none.
    pub rollout: Option<RolloutRow>,
}

/// Progress of a job through its batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolloutRow {
    /// How many batches there are.
    pub batches: u32,
    /// The batch that was started last, from 1.
    pub batch: u32,
    /// The end of the pause that the job is in.
    pub next_batch_ms: Option<i64>,
}

/// How many runs of a batch are in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchStateRow {
    /// The batch, from 1.
    pub batch: u32,
    /// `ready`, `running`, …
    pub state: String,
    /// How many.
    pub count: u64,
}

/// A state that a job entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStateRow {
    /// Its name.
    pub state: String,
    /// When.
    pub enter_ms: i64,
}

/// A job that is not over, with all that is needed to go on with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedJob {
    /// The job.
    pub job: JobRow,
    /// As in [`NewJob::sealed`].
    pub sealed: Option<Vec<u8>>,
    /// How many runs are in each state, the ended ones too.
    pub node_states: BTreeMap<String, u64>,
    /// The runs that are not over, by certname.
    pub runs: Vec<RunRow>,
}

/// A job of Puppet runs that is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDeployRow {
    /// Its name.
    pub number: JobNumber,
    /// May be empty.
    pub environment: String,
    /// JSON: as asked for.
    pub options: String,
}

/// Which jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// `task`, `deploy` or `plan_task`.
    pub kind: Option<String>,
    /// A part of the task's name.
    pub task: Option<String>,
    /// Login of the user who requested the job.
    pub owner: Option<String>,
    /// The job's state.
    pub state: Option<String>,
    /// A node of the job.
    pub certname: Option<String>,
    /// Ended then or later.
    pub min_finish_ms: Option<i64>,
    /// Ended then or earlier.
    pub max_finish_ms: Option<i64>,
    /// By what.
    pub order_by: JobOrder,
    /// The other way round.
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

/// A part of a task's name is found by taking it out: case counts on both engines and nothing
/// has to be escaped.
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

/// 4 is `JOB_OVER`; written out so that the partial index is used.
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
    /// number. After [`StoreError::OutcomeUnknown`], [`Store::inserted`] tells what became of it.
    pub async fn insert_job(&self, job: NewJob) -> Result<JobNumber, StoreError> {
        match self.write(Write::InsertJob(Box::new(job))).await? {
            Written::Job(number) => Ok(number),
            other => unreachable!("an inserted job is answered with its number, not {other:?}"),
        }
    }

    /// The job of a transaction, if its insertion was kept: to be asked when
    /// [`Store::insert_job`] could not tell. The answer is final.
    ///
    /// It waits for a commit of its own first. Behind that, the older one is decided: PostgreSQL's
    /// old session has ended (it held the writer's lock), and in SQLite's log its place is taken.
    pub async fn inserted(&self, transaction_id: &str) -> Result<Option<JobNumber>, StoreError> {
        self.execute_all(Vec::new()).await?;
        let run = self.run_by_transaction(transaction_id).await?;
        Ok(run.map(|run| run.job))
    }

    /// One job.
    pub async fn job(&self, number: JobNumber) -> Result<Option<JobRow>, StoreError> {
        self.query_one(ONE, vec![Value::Int(number.get())]).await
    }

    /// Jobs and how many there are without paging.
    pub async fn jobs(
        &self,
        filter: &JobFilter,
        page: Page,
    ) -> Result<(Vec<JobRow>, u64), StoreError> {
        let mut values = filter.values();
        let total: Option<i64> = self.query_one(COUNT, values.clone()).await?;
        values.extend([
            Value::Int(page.limit_column()),
            Value::Int(page.offset_column()),
        ]);
        let rows = self.query(filter.sql(), values).await?;
        Ok((rows, total.unwrap_or(0).unsigned_abs()))
    }

    /// The states that a job entered, in order.
    pub async fn job_states(&self, job: JobNumber) -> Result<Vec<JobStateRow>, StoreError> {
        self.query(HISTORY, vec![Value::Int(job.get())]).await
    }

    /// How many runs of each batch are in which state, by batch; nothing of a job without batches.
    pub async fn batch_states(&self, job: JobNumber) -> Result<Vec<BatchStateRow>, StoreError> {
        self.query(BATCH_STATES, vec![Value::Int(job.get())]).await
    }

    /// What was asked for with each job of Puppet runs that is not over.
    pub async fn open_deploys(&self) -> Result<Vec<OpenDeployRow>, StoreError> {
        self.query(OPEN_DEPLOYS, Vec::new()).await
    }

    /// All jobs that are not over, by number: what a server reads at its start.
    pub async fn unfinished(&self) -> Result<Vec<UnfinishedJob>, StoreError> {
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

// === impl JobFilter ===

impl JobFilter {
    fn values(&self) -> Vec<Value<'static>> {
        // An empty part is in every name.
        let task = self.task.as_deref().filter(|part| !part.is_empty());
        vec![
            Value::opt_owned(self.kind.as_deref()),
            Value::opt_owned(task),
            Value::opt_int(self.min_finish_ms),
            Value::opt_int(self.max_finish_ms),
            Value::opt_owned(self.owner.as_deref()),
            Value::opt_owned(self.state.as_deref()),
            Value::opt_owned(self.certname.as_deref()),
        ]
    }

    fn sql(&self) -> &'static str {
        ordered(&PAGES, self.order_by, self.descending)
    }
}

// === impl rows ===

struct SealedJob {
    job: JobRow,
    sealed: Option<Vec<u8>>,
}

impl FromRow for SealedJob {
    fn from_row(row: &dyn Columns) -> Result<Self, ColumnError> {
        Ok(Self {
            job: JobRow::from_row(row)?,
            sealed: row.opt_blob(19)?,
        })
    }
}

impl FromRow for OpenDeployRow {
    fn from_row(row: &dyn Columns) -> Result<Self, ColumnError> {
        Ok(Self {
            number: JobNumber::from_column(row.int(0)?),
            environment: row.text(1)?,
            options: row.text(2)?,
        })
    }
}

impl FromRow for JobRow {
    fn from_row(row: &dyn Columns) -> Result<Self, ColumnError> {
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

fn rollout(row: &dyn Columns) -> Result<Option<RolloutRow>, ColumnError> {
    let (batches, batch) = (row.opt_int(16)?, row.opt_int(17)?);
    let next_batch_ms = row.opt_int(18)?;
    Ok(batches.zip(batch).map(|(batches, batch)| RolloutRow {
        batches: batches.try_into().unwrap_or_default(),
        batch: batch.try_into().unwrap_or_default(),
        next_batch_ms,
    }))
}

impl FromRow for BatchStateRow {
    fn from_row(row: &dyn Columns) -> Result<Self, ColumnError> {
        Ok(Self {
            batch: row.int(0)?.try_into().unwrap_or_default(),
            state: row.text(1)?,
            count: row.int(2)?.unsigned_abs(),
        })
    }
}

impl FromRow for JobStateRow {
    fn from_row(row: &dyn Columns) -> Result<Self, ColumnError> {
        Ok(Self {
            state: row.text(0)?,
            enter_ms: row.int(1)?,
        })
    }
}
