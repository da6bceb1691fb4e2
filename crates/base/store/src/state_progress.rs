//! Progress of states.
//!
//! States are written as names and as a *progress*, a number that only grows: the guard of every
//! transition is `progress < new progress`, so a terminal state is never left and no state goes
//! back. This invariant is based on [`run_progress`] and [`job_progress`].

use crate::StoreError;

/// The progress of a run that is over.
pub(crate) const RUN_OVER: i64 = 3;
/// The progress of a run whose request was sent or is about to be sent.
pub(crate) const RUN_RUNNING: i64 = 2;
/// The progress of a job that is over.
pub(crate) const JOB_OVER: i64 = 4;
/// The progress of a job whose runs are starting.
pub(crate) const JOB_RUNNING: i64 = 2;

/// The progress of a run's state.
pub(crate) fn run_progress(state: &str) -> Result<i64, StoreError> {
    match state {
        "new" => Ok(0),
        "ready" => Ok(1),
        "running" => Ok(RUN_RUNNING),
        "finished" | "failed" | "errored" | "skipped" => Ok(RUN_OVER),
        _ => Err(StoreError::UnknownState {
            of: "run",
            state: state.to_owned(),
        }),
    }
}

/// The progress of a job's state.
pub(crate) fn job_progress(state: &str) -> Result<i64, StoreError> {
    match state {
        "new" => Ok(0),
        "ready" => Ok(1),
        "running" => Ok(JOB_RUNNING),
        "stopping" => Ok(3),
        "stopped" | "finished" | "failed" => Ok(JOB_OVER),
        _ => Err(StoreError::UnknownState {
            of: "job",
            state: state.to_owned(),
        }),
    }
}
