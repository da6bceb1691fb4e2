//! The errors around plans: at the start, of the engine, and of requests about a plan.
//!
//! Invariant: an error inside a plan is none of these; it is an end of the plan.

use std::io;

use store::StoreError;

use crate::step::StepId;

/// The reason why the engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartPlansError {
    /// The unfinished plans cannot be read.
    #[error("cannot read the unfinished plans")]
    Store(#[from] StoreError),
    /// The threads that plans run on cannot be started.
    #[error("cannot start a thread for plans")]
    Thread(#[from] io::Error),
}

/// The reason why the engine ended without a shutdown.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PlansLost {
    /// The engine has lost the store.
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
    /// Too many plans are not over yet.
    #[error("{0} plans are not over yet, and that is as many as there may be; stop some, or wait")]
    TooMany(usize),
    /// There is no such plan job, or it is not one that this server runs.
    #[error("this server runs no plan job {0}: it may be old and deleted, or one that Bolt runs")]
    Unknown(i64),
    /// The plan is over and accepts no requests.
    #[error("plan job {number} is over ({state})")]
    Finished {
        /// Id of the plan job.
        number: i64,
        /// `success` or `failure`.
        state: String,
    },
    /// It cannot go on, since it did not fail.
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
    /// There is no such step.
    #[error("plan job {plan} has taken no step {step}")]
    UnknownStep {
        /// Id of the plan job.
        plan: i64,
        /// The step without a match in the plan.
        step: StepId,
    },
    /// The step asks no question, or it is answered already.
    #[error("step {step} of plan job {plan} waits for no answer")]
    NotAsked {
        /// Id of the plan job.
        plan: i64,
        /// The step of the question.
        step: StepId,
    },
    /// The store failed the request.
    #[error("cannot write the plan down")]
    Store(#[from] StoreError),
    /// The server is shutting down.
    #[error("the server is shutting down")]
    ShuttingDown,
}
