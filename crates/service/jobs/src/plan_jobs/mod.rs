//! Plan jobs: the records of plans that run outside the engine (in Bolt), with the jobs that are
//! their steps.
//!
//! [`PlanJobs`] is the handle. Invariants: its answers are durable, a plan job that is over stays
//! as it is, only its owner can continue it (the user who started it, not a later user with the
//! same login), and parameters that are named as sensitive are not stored.

mod request;

use std::sync::Arc;

use partial_debug::partial_debug;
use serde_json::{Value, json};
use store::{Clock, NewPlanEvent, PlanJobRow, PlanOutcome, Store, StoreError};

pub use request::{PlanEnd, PlanStart};

/// The record of plan jobs. Cheap to clone.
#[derive(Clone)]
pub struct PlanJobs {
    store: Store,
    clock: Arc<dyn Clock>,
}

/// Reason that a plan job was left unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanJobError {
    /// No plan job has this number.
    #[error(
        "there is no plan job {0}; it may be old and deleted, and `tutti plan jobs` lists those that are kept"
    )]
    Unknown(i64),
    /// The plan job is over and accepts no changes.
    #[error("plan job {number} is over ({state}); start a new one")]
    Finished {
        /// Number of the plan job.
        number: i64,
        /// `success` or `failure`.
        state: String,
    },
    /// The plan job belongs to another user.
    #[error("plan job {number} belongs to {owner}; only its owner may go on with it")]
    NotOwner {
        /// Number of the plan job.
        number: i64,
        /// Login of the user who started it.
        owner: String,
    },
    /// The store returned an error.
    #[error("cannot write the plan job down")]
    Store(#[from] StoreError),
}

/// The error kind shown for a plan that was stopped.
const STOPPED: &str = "tutti/plan-stopped";

// === impl PlanJobs ===

impl PlanJobs {
    pub(crate) fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Records that a plan runs; returns the number of its plan job.
    pub async fn start(&self, plan: PlanStart) -> Result<i64, PlanJobError> {
        let new = plan.into_row(self.clock.now_ms());
        Ok(self.store.insert_plan_job(&new).await?)
    }

    /// Ends a plan job with the result that its owner reports.
    pub async fn finish(
        &self,
        number: i64,
        user_id: &str,
        end: PlanEnd,
    ) -> Result<(), PlanJobError> {
        self.check_step(number, user_id).await?;
        match self.end(number, &end).await? {
            true => Ok(()),
            false => Err(self.not_running_error(number).await?),
        }
    }

    /// Ends a plan job as failed, without regard to the owner: it accepts no more steps, and
    /// running steps go on. A plan job that is over is left as it is.
    pub async fn stop(&self, number: i64, login: &str) -> Result<(), PlanJobError> {
        self.load_row(number).await?;
        let msg = format!("{login} stopped the plan job; steps that ran were left to end");
        let result = json!({"kind": STOPPED, "msg": msg, "details": {"stopped_by": login}});
        let end = PlanEnd {
            success: false,
            result,
        };
        self.end(number, &end).await.map(|_| ())
    }

    /// Checks that this user may run a task as a step of a plan job now.
    pub async fn check_step(&self, number: i64, user_id: &str) -> Result<(), PlanJobError> {
        let row = self.load_row(number).await?;
        if row.owner_id.is_empty() || row.owner_id != user_id {
            let owner = row.owner;
            return Err(PlanJobError::NotOwner { number, owner });
        }
        match row.finished_ms {
            None => Ok(()),
            Some(_) => Err(PlanJobError::Finished {
                number,
                state: row.state,
            }),
        }
    }

    /// Records an event of a running plan job: a message of the plan, or a call of another plan.
    pub async fn record_event(
        &self,
        number: i64,
        kind: &str,
        details: &Value,
        message: &str,
    ) -> Result<(), PlanJobError> {
        let event = NewPlanEvent {
            kind: kind.to_owned(),
            at_ms: self.clock.now_ms(),
            details: details.to_string(),
            message: message.to_owned(),
        };
        match self.store.insert_plan_event(number, &event).await? {
            true => Ok(()),
            false => Err(self.not_running_error(number).await?),
        }
    }

    async fn end(&self, number: i64, end: &PlanEnd) -> Result<bool, PlanJobError> {
        let (state, kind) = match end.success {
            true => ("success", "plan_finished"),
            false => ("failure", "plan_failed"),
        };
        // The result is stored once, with the plan job.
        let details = json!({"plan-id": number.to_string()});
        let event = NewPlanEvent {
            kind: kind.to_owned(),
            at_ms: self.clock.now_ms(),
            details: details.to_string(),
            message: format!("The plan ended: {state}"),
        };
        let outcome = PlanOutcome {
            state: state.to_owned(),
            result: end.result.to_string(),
            event,
        };
        Ok(self.store.finish_plan_job(number, &outcome).await?)
    }

    async fn load_row(&self, number: i64) -> Result<PlanJobRow, PlanJobError> {
        let row = self.store.plan_job(number).await?;
        row.ok_or(PlanJobError::Unknown(number))
    }

    /// The reason that nothing was written.
    async fn not_running_error(&self, number: i64) -> Result<PlanJobError, PlanJobError> {
        let state = self.load_row(number).await?.state;
        Ok(PlanJobError::Finished { number, state })
    }
}

partial_debug!(PlanJobs {});
