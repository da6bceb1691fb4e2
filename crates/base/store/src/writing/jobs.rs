//! The rows of jobs and of the states that jobs enter.

use super::events::{self, NewEvent};
use super::plan_journal::PlanJournalWrite;
use super::plan_steps;
use super::runs::{self, NewRun};
use super::slots::SlotKey;
use crate::change::{BatchChange, JobChange};
use crate::ledger::NumberLedger;
use crate::state_progress::{JOB_OVER, JOB_RUNNING, job_progress, run_progress};
use crate::statement::SqlStatement;
use crate::value::values;
use crate::{JobNumber, StoreError};

/// A new job with its runs, written in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// Command that requested the job, such as `task`, `deploy` or `plan_task`.
    pub command: String,
    /// The type that lists are filtered by: `task`, `deploy` or `plan_task`.
    pub kind: String,
    /// Name of the task; `None` for jobs without one.
    pub task: Option<String>,
    /// Name of the environment; may be empty.
    pub environment: String,
    /// Options of the request as JSON, with sensitive values already redacted.
    pub options: String,
    /// Sensitive values that must not be readable at rest, sealed by the caller.
    pub sealed: Option<Vec<u8>>,
    /// Login of the owner.
    pub owner: String,
    /// Description given by the user, as free text.
    pub description: String,
    /// Data given by the user, as JSON.
    pub userdata: String,
    /// Time of creation in milliseconds since 1970.
    pub created_ms: i64,
    /// The states that the job enters at once, in their order; the last one is its current state.
    /// At least one, e.g. `["ready"]` or `["ready", "running"]`.
    pub states: Vec<String>,
    /// Number of batches of the runs; the first batch starts with the job. `None`: no batches.
    pub batches: Option<u32>,
    /// Runs of the job, one for each node.
    pub runs: Vec<NewRun>,
    /// Events of the job itself, written after those of its runs.
    pub events: Vec<NewEvent>,
    /// The slot of a schedule that the job runs for. A second job for it is refused.
    pub slot: Option<SlotKey>,
    /// The plan job that the job is a step of. The job is refused if the plan job is over.
    pub plan_job: Option<i64>,
    /// Changes of the plan's journal that are written with the job, if this server runs the plan.
    pub mark: Option<PlanJournalWrite>,
}

const INSERT: &str = "INSERT INTO jobs (number, command, kind, task, state, progress, environment, \
     options, sealed, owner, description, userdata, node_count, created_ms, started_ms, \
     finished_ms, changed_ms, latest_event_id, batches, batch) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 0, $18, $19)";

const INSERT_STATE: &str =
    "INSERT INTO job_states (job, progress, state, enter_ms) VALUES ($1, $2, $3, $4)";

/// `progress < $3` is the guard: forward only, and never out of a terminal state. A job that is
/// over does not need its secrets any more, and a job that is stopping does not wait for another
/// batch; 3 is `stopping`.
const TRANSITION: &str = "UPDATE jobs SET state = $2, progress = $3, \
     started_ms = COALESCE(started_ms, CAST($4 AS BIGINT)), finished_ms = $5, changed_ms = $6, \
     sealed = CASE WHEN CAST($5 AS BIGINT) IS NULL THEN sealed END, latest_event_id = $7, \
     duration_ms = CAST($8 AS BIGINT), \
     next_batch_ms = CASE WHEN $3 < 3 THEN next_batch_ms END WHERE number = $1 AND progress < $3";

/// Applied forward only, and not to a job that is over or stopping.
const ENTER_BATCH: &str = "UPDATE jobs SET batch = $2, next_batch_ms = $3, latest_event_id = $4 \
     WHERE number = $1 AND batch <= $2 AND progress < 3";

const ENTER_STATE: &str = "INSERT INTO job_states (job, progress, state, enter_ms) \
     SELECT number, progress, state, changed_ms FROM jobs \
     WHERE number = $1 AND latest_event_id = $2";

/// Stores the number of runs in each last state, such as `finished:9,failed:1`, once the job and
/// its runs are over. They never change any more, so a list of jobs need not count a million runs.
/// 4 is `JOB_OVER` and 3 is `RUN_OVER`, written literally so that the partial index is used.
const SUM_UP: &str = "UPDATE jobs SET run_states = (SELECT STRING_AGG(counted.state || ':' || \
     CAST(counted.many AS TEXT), ',') FROM (SELECT state, COUNT(*) AS many FROM runs \
     WHERE job = $1 GROUP BY state) AS counted) WHERE number = $1 AND progress = 4 \
     AND NOT EXISTS (SELECT 1 FROM runs WHERE job = $1 AND progress < 3)";

pub(crate) const STATEMENTS: &[&str] = &[
    INSERT,
    INSERT_STATE,
    TRANSITION,
    ENTER_BATCH,
    ENTER_STATE,
    SUM_UP,
];

impl NewJob {
    /// Approximate number of statements for the journal of the job's plan.
    pub(crate) fn journal_statement_count(&self) -> usize {
        self.mark
            .as_ref()
            .map_or(0, |mark| 1 + 2 * mark.earlier_changes.len())
    }

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
    ledger: &mut NumberLedger,
    steps: &mut Vec<SqlStatement<'a>>,
) -> Result<JobNumber, StoreError> {
    let number = ledger.next_job();
    let state = job.states.last().ok_or(StoreError::NoState)?;
    let progress = job_progress(state)?;
    let started = job
        .states
        .iter()
        .any(|state| matches!(job_progress(state), Ok(JOB_RUNNING)));
    steps.push(SqlStatement::new(
        INSERT,
        values![
            number,
            job.command,
            job.kind,
            job.task,
            state,
            progress,
            job.environment,
            job.options,
            job.sealed,
            job.owner,
            job.description,
            job.userdata,
            job.runs.len(),
            job.created_ms,
            started.then_some(job.created_ms),
            (progress == JOB_OVER).then_some(job.created_ms),
            job.created_ms,
            job.batches,
            job.batches.map(|_| 1_i64)
        ],
    ));
    for state in &job.states {
        let progress = job_progress(state)?;
        let values = values![number, progress, state, job.created_ms];
        steps.push(SqlStatement::new(INSERT_STATE, values));
    }
    steps.extend(job.slot.map(|slot| slot.launch_statement(number)));
    if let Some(plan_job) = job.plan_job {
        // Earlier events of the plan come before the events of this job.
        if let Some(mark) = &job.mark {
            mark.add_earlier_statements(plan_job, steps);
        }
        for step in
            plan_steps::join_statements(plan_job, number, job.task.as_deref(), job.created_ms)
        {
            steps.push(step);
        }
        if let Some(mark) = &job.mark {
            mark.add_begin_statement(plan_job, number, steps);
        }
    }
    for run in &job.runs {
        runs::plan_insert(run, number, job.created_ms, ledger, steps)?;
    }
    for event in &job.events {
        steps.push(events::insert(event, ledger.next_event(), number));
    }
    Ok(number)
}

/// The statement of a job's transition.
pub(crate) fn transition(change: &JobChange, mark: i64) -> Result<SqlStatement<'_>, StoreError> {
    let progress = job_progress(&change.to_state)?;
    Ok(SqlStatement::new(
        TRANSITION,
        values![
            change.job,
            change.to_state,
            progress,
            (progress == JOB_RUNNING).then_some(change.at_ms),
            (progress == JOB_OVER).then_some(change.at_ms),
            change.at_ms,
            mark,
            change.duration_ms
        ],
    ))
}

/// The statement of a job's next batch, or of the pause before it.
pub(crate) fn enter_batch(change: &BatchChange, mark: i64) -> SqlStatement<'static> {
    SqlStatement::new(
        ENTER_BATCH,
        values![change.job, change.batch, change.next_batch_ms, mark],
    )
}

/// The statement of the entry in the job's history, written if the transition was applied.
pub(crate) fn enter_state(change: &JobChange, mark: i64) -> SqlStatement<'static> {
    SqlStatement::new(ENTER_STATE, values![change.job, mark])
}

/// The statement that stores the numbers of runs by state, if the transition ends the job.
pub(crate) fn count_runs_statement(
    change: &JobChange,
) -> Result<Option<SqlStatement<'static>>, StoreError> {
    let over = job_progress(&change.to_state)? == JOB_OVER;
    Ok(over.then(|| SqlStatement::new(SUM_UP, values![change.job])))
}
