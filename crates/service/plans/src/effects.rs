//! What plans do to the world: [`Effects`] makes jobs, a [`Deed`] is done on this machine.
//!
//! The rules: a job is made in the transaction that writes its step, so no step ever makes two; and what
//! cannot be known is said to be unknown, never tried again.

use async_trait::async_trait;
use jobs::{DeployRequest, TaskRequest};
use serde_json::Value;
use store::{JobNumber, PlanMark};

use crate::step::Outcome;

/// A job that a plan wants. Whose it is and of which plan job, the engine adds.
#[derive(Debug)]
pub enum Order {
    /// A task.
    Task(TaskRequest),
    /// A Puppet run.
    Puppet(DeployRequest),
}

/// Something that is done on the machine of the server itself.
#[async_trait]
pub trait Deed: Send + Sync {
    /// Whether it may be done twice: it changes nothing.
    fn is_repeatable(&self) -> bool;

    /// Does it.
    async fn act(&self) -> Outcome;
}

/// Whose plan it is that does something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The plan job.
    pub plan_job: i64,
    /// The name of the plan.
    pub plan: String,
    /// Where its jobs run, if they do not say.
    pub environment: String,
    /// The version of its code that the plan stays with.
    pub code_id: Option<String>,
    /// The login of the owner.
    pub owner: String,
    /// His id.
    pub owner_id: String,
    /// The plan is older than this server's start: its nodes may still be coming back.
    pub from_before: bool,
}

/// Why a job was not made.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// It cannot be, and nothing was written: an error as the plan gets it.
    #[error("{0}")]
    Refused(Value),
    /// Whether it was made is known only to the store, which cannot be asked now.
    #[error("{0}")]
    Unavailable(String),
    /// The server is shutting down.
    #[error("the server is shutting down")]
    ShuttingDown,
}

/// The outcome of a job cannot be read now; it is not lost.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotKnown(pub String);

/// Those who make jobs.
#[async_trait]
pub trait Effects: Send + Sync + 'static {
    /// Makes a job, and writes the mark in the same transaction.
    async fn start(
        &self,
        actor: &Actor,
        order: Order,
        mark: PlanMark,
    ) -> Result<JobNumber, NotStarted>;

    /// Waits until the job is over, and tells how it went.
    async fn outcome(&self, job: JobNumber) -> Result<Outcome, NotKnown>;

    /// Ends the job, as far as that is possible.
    async fn stop(&self, job: JobNumber);
}
