//! Jobs, and the history of their states.

use std::collections::BTreeMap;

use crate::ledger::Ledger;
use crate::page::Page;
use crate::state::{JOB_OVER, JOB_RUNNING, job_progress, run_progress};
use crate::store::Store;
use crate::value::{ColumnError, Columns, FromRow, Value};
use crate::write::{JobChange, Step, Write, Written};
use crate::{JobNumber, NewEvent, NewRun, RunRow, StoreError, events, runs};

/// A job with its runs, written in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// `task`, `deploy`, `plan_task`, …
    pub command: String,
    /// The type that lists are filtered by: `task`, `deploy` or `plan_task`.
    pub kind: String,
    /// The task's name, for jobs that run one.
    pub task: Option<String>,
    /// May be empty.
    pub environment: String,
    /// JSON, with sensitive values redacted already.
    pub options: String,
    /// What must not be readable at rest, sealed by the caller.
    pub sealed: Option<Vec<u8>>,
    /// The owner's login.
    pub owner: String,
    /// Free text.
    pub description: String,
    /// JSON.
    pub userdata: String,
    /// When.
    pub created_ms: i64,
    /// The states that it enters at once, in their order; the last one is where it stands. At
    /// least one, e.g. `["ready"]` or `["ready", "running"]`.
    pub states: Vec<String>,
    /// One for each node.
    pub runs: Vec<NewRun>,
    /// Events of the job itself, after those of its runs.
    pub events: Vec<NewEvent>,
}

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

/// By what jobs are ordered; ties are broken by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobOrder {
    /// By number, as numbers.
    #[default]
    Number,
    /// By the owner's login.
    Owner,
    /// By the last change of state.
    Changed,
    /// By the environment.
    Environment,
    /// By the state's name.
    State,
}

/// Which jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// `task`, `deploy` or `plan_task`.
    pub kind: Option<String>,
    /// A part of the task's name.
    pub task: Option<String>,
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
         node_count, created_ms, started_ms, finished_ms, changed_ms"
    };
}

/// A part of a task's name is found by taking it out: case counts on both engines and nothing
/// has to be escaped.
macro_rules! matching {
    () => {
        " FROM jobs WHERE pruned = 0 AND (CAST($1 AS TEXT) IS NULL OR kind = $1) \
         AND (CAST($2 AS TEXT) IS NULL OR REPLACE(task, $2, '') <> task) \
         AND (CAST($3 AS BIGINT) IS NULL OR finished_ms >= $3) \
         AND (CAST($4 AS BIGINT) IS NULL OR finished_ms <= $4)"
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
            " LIMIT $5 OFFSET $6"
        )
    };
}

const INSERT: &str = "INSERT INTO jobs (number, command, kind, task, state, progress, environment, \
     options, sealed, owner, description, userdata, node_count, created_ms, started_ms, \
     finished_ms, changed_ms, latest_event_id) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 0)";

const INSERT_STATE: &str =
    "INSERT INTO job_states (job, progress, state, enter_ms) VALUES ($1, $2, $3, $4)";

/// `progress < $3` is the guard: forward only, and never out of a terminal state. A job that is
/// over needs its secrets no more.
const TRANSITION: &str = "UPDATE jobs SET state = $2, progress = $3, \
     started_ms = COALESCE(started_ms, CAST($4 AS BIGINT)), finished_ms = $5, changed_ms = $6, \
     sealed = CASE WHEN CAST($5 AS BIGINT) IS NULL THEN sealed END, latest_event_id = $7 \
     WHERE number = $1 AND progress < $3";

const ENTER_STATE: &str = "INSERT INTO job_states (job, progress, state, enter_ms) \
     SELECT number, progress, state, changed_ms FROM jobs \
     WHERE number = $1 AND latest_event_id = $2";

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

const PAGES: [(JobOrder, &str, &str); 5] = [
    (JobOrder::Number, page!("number"), page!("number DESC")),
    (
        JobOrder::Owner,
        page!("owner, number"),
        page!("owner DESC, number DESC"),
    ),
    (
        JobOrder::Changed,
        page!("changed_ms, number"),
        page!("changed_ms DESC, number DESC"),
    ),
    (
        JobOrder::Environment,
        page!("environment, number"),
        page!("environment DESC, number DESC"),
    ),
    (
        JobOrder::State,
        page!("state, number"),
        page!("state DESC, number DESC"),
    ),
];

pub(crate) const STATEMENTS: &[&str] = &[
    INSERT,
    INSERT_STATE,
    TRANSITION,
    ENTER_STATE,
    ONE,
    COUNT,
    HISTORY,
    UNFINISHED,
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
    /// number.
    pub async fn insert_job(&self, job: NewJob) -> Result<JobNumber, StoreError> {
        match self.write(Write::InsertJob(Box::new(job))).await? {
            Written::Job(number) => Ok(number),
            other => unreachable!("an inserted job is answered with its number, not {other:?}"),
        }
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
        ]
    }

    fn sql(&self) -> &'static str {
        let (_, ascending, descending) = PAGES
            .iter()
            .find(|(order, ..)| *order == self.order_by)
            .unwrap_or(&PAGES[0]);
        if self.descending {
            descending
        } else {
            ascending
        }
    }
}

// === impl NewJob ===

impl NewJob {
    pub(crate) fn validate(&self) -> Result<(), StoreError> {
        if self.states.is_empty() {
            return Err(StoreError::NoState);
        }
        self.states
            .iter()
            .try_for_each(|state| job_progress(state).map(|_| ()))?;
        self.runs
            .iter()
            .try_for_each(|run| run_progress(&run.state).map(|_| ()))
    }
}

/// The statements of a new job.
pub(crate) fn plan_insert<'a>(
    job: &'a NewJob,
    ledger: &mut Ledger,
    steps: &mut Vec<Step<'a>>,
) -> Result<JobNumber, StoreError> {
    let number = ledger.next_job();
    let state = job.states.last().ok_or(StoreError::NoState)?;
    let progress = job_progress(state)?;
    let started = job
        .states
        .iter()
        .any(|state| matches!(job_progress(state), Ok(JOB_RUNNING)));
    steps.push(Step {
        sql: INSERT,
        values: vec![
            Value::Int(number.get()),
            Value::text(&job.command),
            Value::text(&job.kind),
            Value::opt_text(job.task.as_deref()),
            Value::text(state),
            Value::Int(progress),
            Value::text(&job.environment),
            Value::text(&job.options),
            job.sealed.as_deref().map_or(Value::Null, Value::blob),
            Value::text(&job.owner),
            Value::text(&job.description),
            Value::text(&job.userdata),
            Value::Int(i64::try_from(job.runs.len()).unwrap_or(i64::MAX)),
            Value::Int(job.created_ms),
            Value::opt_int(started.then_some(job.created_ms)),
            Value::opt_int((progress == JOB_OVER).then_some(job.created_ms)),
            Value::Int(job.created_ms),
        ],
    });
    for state in &job.states {
        let progress = job_progress(state)?;
        let values = vec![
            Value::Int(number.get()),
            Value::Int(progress),
            Value::text(state),
            Value::Int(job.created_ms),
        ];
        steps.push(Step {
            sql: INSERT_STATE,
            values,
        });
    }
    for run in &job.runs {
        runs::plan_insert(run, number, job.created_ms, ledger, steps)?;
    }
    for event in &job.events {
        steps.push(events::insert(event, ledger.next_event(), number));
    }
    Ok(number)
}

/// A job's transition.
pub(crate) fn transition(change: &JobChange, mark: i64) -> Result<Step<'_>, StoreError> {
    let progress = job_progress(&change.to_state)?;
    Ok(Step {
        sql: TRANSITION,
        values: vec![
            Value::Int(change.job.get()),
            Value::text(&change.to_state),
            Value::Int(progress),
            Value::opt_int((progress == JOB_RUNNING).then_some(change.at_ms)),
            Value::opt_int((progress == JOB_OVER).then_some(change.at_ms)),
            Value::Int(change.at_ms),
            Value::Int(mark),
        ],
    })
}

/// The entry in the history, if the transition was applied.
pub(crate) fn enter_state(change: &JobChange, mark: i64) -> Step<'static> {
    Step {
        sql: ENTER_STATE,
        values: vec![Value::Int(change.job.get()), Value::Int(mark)],
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
            sealed: row.opt_blob(15)?,
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
