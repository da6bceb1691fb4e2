//! The errors at the start of the engine, when it ends, and of requests about a plan.
//!
//! Invariant: an error inside a plan is none of these; it is the plan's result.

use std::io;

use store::StoreError;

use crate::step::StepId;

/// The reason why the engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartPlansError {
    /// The unfinished plans cannot be read.
    #[error("cannot read the unfinished plans")]
    Store(#[from] StoreError),
    /// A thread for plans cannot be started.
    #[error("cannot start a thread for plans")]
    Thread(#[from] io::Error),
}

/// The reason why the engine ended without a shutdown.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PlansLost {
    /// The store accepts no more writes.
    #[error("the store takes nothing any more")]
    Store(#[from] StoreError),
    /// A bug in the engine.
    #[error("the plan engine broke (a bug; please report it)")]
    Broken,
}

/// The reason why a request about a plan was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Too many plans have not ended yet.
    #[error("{0} plans are not over yet, and that is as many as there may be; stop some, or wait")]
    TooMany(usize),
    /// There is no such plan job, or this server does not run it.
    #[error("this server runs no plan job {0}: it may be old and deleted, or one that Bolt runs")]
    Unknown(i64),
    /// The plan has ended and accepts no requests.
    #[error("plan job {number} is over ({state})")]
    Finished {
        /// Id of the plan job.
        number: i64,
        /// `success` or `failure`.
        state: String,
    },
    /// The plan cannot be resumed, since it did not fail.
    #[error("plan job {number} has not failed ({state}), so there is nothing to go on from")]
    NotFailed {
        /// Id of the plan job.
        number: i64,
        /// `running` or `success`.
        state: String,
    },
    /// The plan job is a preview, which cannot be resumed.
    #[error("plan job {0} is a preview, which does not go on: run the plan, or look at it again")]
    Preview(i64),
    /// The plan job has no such step.
    #[error("plan job {plan} has taken no step {step}")]
    UnknownStep {
        /// Id of the plan job.
        plan: i64,
        /// The step that the plan has not taken.
        step: StepId,
    },
    /// The step does not wait for an answer, or has been answered already.
    #[error("step {step} of plan job {plan} waits for no answer")]
    NotAsked {
        /// Id of the plan job.
        plan: i64,
        /// The step that was to be answered.
        step: StepId,
    },
    /// The store refused or failed the operation.
    #[error("cannot write the plan down")]
    Store(#[from] StoreError),
    /// The server is shutting down.
    #[error("the server is shutting down")]
    ShuttingDown,
}
