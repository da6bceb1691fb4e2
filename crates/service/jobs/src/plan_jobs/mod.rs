//! Plan jobs: the record of a plan that runs elsewhere (in Bolt), with the jobs that are its steps.
//!
//! [`PlanJobs`] is the handle; the rules: what it answers is durable, a plan job that is over stays
//! as it is, only its owner goes on with it (the user who started it, and nobody who bears his login
//! later), and parameters that are named as sensitive are not
//! kept.

mod request;

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};
use store::{NewPlanEvent, PlanJobRow, PlanOutcome, Store, StoreError};

use crate::clock::Clock;

pub use request::{PlanEnd, PlanStart};

/// The record of plan jobs. Cheap to clone.
#[derive(Clone)]
pub struct PlanJobs {
    store: Store,
    clock: Arc<dyn Clock>,
}

/// Why a plan job was left as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanJobError {
    /// There is no such plan job.
    #[error(
        "there is no plan job {0}; it may be old and deleted, and `tutti plan jobs` lists those that are kept"
    )]
    Unknown(i64),
    /// It takes nothing any more.
    #[error("plan job {number} is over ({state}); start a new one")]
    Finished {
        /// Which.
        number: i64,
        /// `success` or `failure`.
        state: String,
    },
    /// Somebody else started it.
    #[error("plan job {number} belongs to {owner}; only its owner may go on with it")]
    NotOwner {
        /// Which.
        number: i64,
        /// The login of who started it.
        owner: String,
    },
    /// The store failed.
    #[error("cannot write the plan job down")]
    Store(#[from] StoreError),
}

/// What is shown as the kind of a plan that was stopped.
const STOPPED: &str = "tutti/plan-stopped";

// === impl PlanJobs ===

impl PlanJobs {
    pub(crate) fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Writes down that a plan runs; gives the number of its plan job.
    pub async fn start(&self, plan: PlanStart) -> Result<i64, PlanJobError> {
        let new = plan.row(self.clock.now_ms());
        Ok(self.store.insert_plan_job(&new).await?)
    }

    /// Ends a plan job as its owner says.
    pub async fn finish(
        &self,
        number: i64,
        user_id: &str,
        end: PlanEnd,
    ) -> Result<(), PlanJobError> {
        self.step(number, user_id).await?;
        match self.end(number, &end).await? {
            true => Ok(()),
            false => Err(self.over(number).await?),
        }
    }

    /// Ends a plan job as failed, whoever asks: it takes no more steps, and those that run go on.
    /// One that is over is left as it is.
    pub async fn stop(&self, number: i64, login: &str) -> Result<(), PlanJobError> {
        self.row(number).await?;
        let msg = format!("{login} stopped the plan job; steps that ran were left to end");
        let result = json!({"kind": STOPPED, "msg": msg, "details": {"stopped_by": login}});
        let end = PlanEnd {
            success: false,
            result,
        };
        self.end(number, &end).await.map(|_| ())
    }

    /// Whether this user may run a task as a step of a plan job now.
    pub async fn step(&self, number: i64, user_id: &str) -> Result<(), PlanJobError> {
        let row = self.row(number).await?;
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

    /// Writes an event of a plan job that runs: what the plan says, which plan calls which.
    pub async fn tell(
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
            false => Err(self.over(number).await?),
        }
    }

    async fn end(&self, number: i64, end: &PlanEnd) -> Result<bool, PlanJobError> {
        let (state, kind) = match end.success {
            true => ("success", "plan_finished"),
            false => ("failure", "plan_failed"),
        };
        // The result is kept once, with the plan job.
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

    async fn row(&self, number: i64) -> Result<PlanJobRow, PlanJobError> {
        let row = self.store.plan_job(number).await?;
        row.ok_or(PlanJobError::Unknown(number))
    }

    /// Why nothing was written.
    async fn over(&self, number: i64) -> Result<PlanJobError, PlanJobError> {
        let state = self.row(number).await?.state;
        Ok(PlanJobError::Finished { number, state })
    }
}

impl fmt::Debug for PlanJobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanJobs").finish_non_exhaustive()
    }
}
