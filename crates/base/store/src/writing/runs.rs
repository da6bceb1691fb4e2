//! The rows of runs.

use super::changes;
use super::events::{self, NewEvent};
use crate::change::{DetailsChange, RunChange};
use crate::ledger::NumberLedger;
use crate::state_progress::{RUN_OVER, RUN_RUNNING, run_progress};
use crate::statement::SqlStatement;
use crate::value::values;
use crate::{JobNumber, StoreError};

/// A run of a new job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    /// Certname of the node.
    pub certname: String,
    /// Transaction id, random and unique over all time.
    pub transaction_id: String,
    /// First state, such as `ready`, `running`, `errored` or `skipped`.
    pub state: String,
    /// Details of the run, as JSON.
    pub details: Option<String>,
    /// Result of the run, as JSON; `None` before it has one.
    pub result: Option<String>,
    /// Batch of the run, counted from 1; `None`: its job has no batches.
    pub batch: Option<u32>,
    /// First event of the run.
    pub event: Option<NewEvent>,
}

const INSERT: &str = "INSERT INTO runs (job, certname, transaction_id, state, progress, \
     started_ms, finished_ms, details, result, latest_event_id, batch) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";

/// `progress < $4` is the guard: forward only, and never out of a terminal state.
const TRANSITION: &str = "UPDATE runs SET state = $3, progress = $4, \
     started_ms = COALESCE(started_ms, CAST($5 AS BIGINT)), finished_ms = $6, \
     result = COALESCE($7, result), details = COALESCE($8, details), latest_event_id = $9, \
     corrective = COALESCE($10, corrective), intentional = COALESCE($11, intentional), \
     duration_ms = CAST($12 AS BIGINT) \
     WHERE job = $1 AND certname = $2 AND progress < $4";

const SET_DETAILS: &str =
    "UPDATE runs SET details = $3 WHERE job = $1 AND certname = $2 AND state = 'running'";

/// Applied only if the transition was, which is recognized by its mark.
const SET_SECRET: &str = "UPDATE runs SET sealed = $4 WHERE job = $1 AND certname = $2 \
     AND latest_event_id = $3 AND EXISTS (SELECT 1 FROM plan_steps s JOIN plan_jobs p \
     ON p.number = s.plan_job WHERE s.job = $1 AND p.state <> 'success')";

pub(crate) const STATEMENTS: &[&str] = &[INSERT, TRANSITION, SET_DETAILS, SET_SECRET];

/// The statements of a new job's run.
pub(crate) fn plan_insert<'a>(
    run: &'a NewRun,
    job: JobNumber,
    at_ms: i64,
    ledger: &mut NumberLedger,
    steps: &mut Vec<SqlStatement<'a>>,
) -> Result<(), StoreError> {
    let progress = run_progress(&run.state)?;
    let mark = run.event.as_ref().map_or(0, |_| ledger.next_event());
    steps.push(SqlStatement::new(
        INSERT,
        values![
            job,
            run.certname,
            run.transaction_id,
            run.state,
            progress,
            (progress == RUN_RUNNING).then_some(at_ms),
            (progress == RUN_OVER).then_some(at_ms),
            run.details,
            run.result,
            mark,
            run.batch
        ],
    ));
    steps.extend(
        run.event
            .as_ref()
            .map(|event| events::insert(event, mark, job)),
    );
    Ok(())
}

/// The statement of new details of a run that is in progress.
pub(crate) fn set_details(change: &DetailsChange) -> SqlStatement<'_> {
    SqlStatement::new(
        SET_DETAILS,
        values![change.job, change.certname, change.details],
    )
}

/// The statement of a run's transition.
pub(crate) fn transition(change: &RunChange, mark: i64) -> Result<SqlStatement<'_>, StoreError> {
    let progress = run_progress(&change.to_state)?;
    let result = change.result.as_deref();
    let changes = result.and_then(changes::from_result);
    Ok(SqlStatement::new(
        TRANSITION,
        values![
            change.job,
            change.certname,
            change.to_state,
            progress,
            (progress == RUN_RUNNING).then_some(change.at_ms),
            (progress == RUN_OVER).then_some(change.at_ms),
            result,
            change.details,
            mark,
            changes.map(|changes| changes.corrective),
            changes.map(|changes| changes.intentional),
            change.duration_ms
        ],
    ))
}

/// Writes the secret that came with the end of a run.
pub(crate) fn insert_secret_statement(change: &RunChange, mark: i64) -> Option<SqlStatement<'_>> {
    let sealed = change.sealed.as_deref()?;
    let values = values![change.job, change.certname, mark, sealed];
    Some(SqlStatement::new(SET_SECRET, values))
}
