//! The effects of plans: [`PlanEffects`] creates jobs, a [`LocalEffect`] is performed on the
//! server.
//!
//! Invariants: a job is created in the transaction that writes its step, so a step never creates
//! two jobs; and an outcome that cannot be known is reported as unknown, and the effect is never
//! retried.

use async_trait::async_trait;
use jobs::JobSpec;
use serde_json::Value;
use store::{JobNumber, PlanJournalWrite};

use crate::step::StepOutcome;

/// An effect on the machine of the server itself.
#[async_trait]
pub trait LocalEffect: Send + Sync {
    /// Returns true if the effect changes nothing and so may be performed twice.
    fn is_repeatable(&self) -> bool;

    /// Performs the effect.
    async fn perform(&self) -> StepOutcome;
}

/// The plan job and owner that an effect belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanActor {
    /// Id of the plan job.
    pub plan_job: i64,
    /// The name of the plan.
    pub plan: String,
    /// True if the program is the server's own, and not the code of an environment.
    pub is_built_in: bool,
    /// The environment of the plan.
    pub environment: String,
    /// Code version that the plan is pinned to; `None` for the version that is live at each moment.
    pub code_id: Option<String>,
    /// The login of the owner.
    pub owner: String,
    /// Id of the owner.
    pub owner_id: String,
    /// True if the plan was started before this server process; its nodes may still be
    /// reconnecting.
    pub from_before: bool,
}

/// The reason why a job was not created.
#[derive(Debug, thiserror::Error)]
pub enum JobStartError {
    /// The job cannot be created, and nothing was written; holds the error that the plan gets.
    #[error("{0}")]
    Refused(Value),
    /// It is unknown if the job was created, since the store cannot be read now.
    #[error("{0}")]
    Unavailable(String),
    /// The server is shutting down.
    #[error("the server is shutting down")]
    ShuttingDown,
}

/// The outcome of a job cannot be read now; the job itself is not lost.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct JobOutcomeError(pub String);

/// Creates the jobs of plans, and reads their outcomes.
#[async_trait]
pub trait PlanEffects: Send + Sync + 'static {
    /// Creates a job, and writes `mark` to the journal in the same transaction. The owner and the
    /// plan job are added to `spec`.
    async fn start(
        &self,
        actor: &PlanActor,
        spec: JobSpec,
        mark: PlanJournalWrite,
    ) -> Result<JobNumber, JobStartError>;

    /// Waits until the job has ended, and returns its outcome.
    async fn outcome(&self, job: JobNumber) -> Result<StepOutcome, JobOutcomeError>;

    /// Stops the job, as far as that is possible.
    async fn stop(&self, job: JobNumber);
}
