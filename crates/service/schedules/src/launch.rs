//! Creates the job of a slot: [`JobLauncher`]; records the event: [`SlotRecorder`].
//!
//! Invariant: an implementation of [`JobLauncher`] writes the [`SlotKey`] in the transaction of the
//! job, so that a launch that is repeated after a crash cannot create a second job.

use async_trait::async_trait;
use partial_debug::partial_debug;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::{LaunchedJob, SlotKey};

use crate::decide::SkippedSlots;
use crate::draft::ScheduledJobKind;

/// Creates the jobs of slots.
#[async_trait]
pub trait JobLauncher: Send + Sync + 'static {
    /// Creates the job of a slot, with the current permissions of the owner.
    async fn launch(&self, job: &SlotJob, slot: SlotKey) -> Result<LaunchedJob, SubmissionError>;
}

/// Records the jobs that schedules start.
#[async_trait]
pub trait SlotRecorder: Send + Sync + 'static {
    /// Called before a job starts. With an error, which has the reason, the job does not start.
    async fn before_start(&self, firing: &SlotEvent) -> Result<(), String>;

    /// Called with the outcome of the slot.
    async fn after_outcome(&self, firing: &SlotEvent, outcome: &SlotOutcome);
}

/// A slot that is about to run, or was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotEvent {
    /// Key of the slot.
    pub slot: SlotKey,
    /// Kind of the job.
    pub kind: ScheduledJobKind,
    /// Name of the task or plan; empty for a Puppet run.
    pub name: String,
    /// Login of the user whose permissions apply.
    pub owner: String,
    /// Id of that user.
    pub owner_id: String,
}

/// The outcome of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotOutcome {
    /// The job that was created.
    Launched(LaunchedJob),
    /// The launch was refused with this error.
    Refused(SubmissionError),
    /// The slot was skipped.
    Skipped(SkippedSlots),
}

/// A [`SlotRecorder`] that records nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSlotRecorder;

#[async_trait]
impl SlotRecorder for NoSlotRecorder {
    async fn before_start(&self, _: &SlotEvent) -> Result<(), String> {
        Ok(())
    }

    async fn after_outcome(&self, _: &SlotEvent, _: &SlotOutcome) {}
}

/// The job to launch for a slot.
#[derive(Clone, PartialEq)]
pub struct SlotJob {
    /// Number of the schedule.
    pub id: i64,
    /// Kind of the job.
    pub kind: ScheduledJobKind,
    /// Name of the task or plan; empty for a Puppet run.
    pub name: String,
    /// Name of the environment; may be empty.
    pub environment: String,
    /// Login of the owner at the time when the schedule was created.
    pub owner: String,
    /// Id of the owner.
    pub owner_id: String,
    /// Free text for the job.
    pub description: String,
    /// Arbitrary keys and values from the client.
    pub userdata: Map<String, Value>,
    /// The request without the name and the secrets, in the form of the API.
    pub input: Map<String, Value>,
    /// Names of the secret parameters.
    pub sensitive: Vec<String>,
    /// Values of the secret parameters, by name.
    pub secrets: Map<String, Value>,
}

/// The reason that a slot has no job. It is stored with the slot and shown unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{msg} ({kind})")]
pub struct SubmissionError {
    /// Kind of the error, for example `puppetlabs.orchestrator/not-permitted`.
    pub kind: String,
    /// Error message shown to users.
    pub msg: String,
    /// Machine-readable details of the error.
    pub details: Map<String, Value>,
}

/// The server stopped between the claim and the job; nothing was started.
pub(crate) const INTERRUPTED: &str = "tutti/submission-interrupted";
/// The launch did not finish within the timeout.
pub(crate) const UNKNOWN: &str = "tutti/submission-unknown";
/// The schedule cannot be launched at all.
pub(crate) const BROKEN: &str = "tutti/submission-broken";
/// The record could not be written.
pub(crate) const UNRECORDED: &str = "tutti/submission-unrecorded";
/// The query or node group finds no node now.
const EMPTY_TARGET: &str = "puppetlabs.orchestrator/empty-target";
/// The launch is still in progress.
pub(crate) const PENDING: &str = "tutti/submission-pending";

// === impl SubmissionError ===

impl SubmissionError {
    /// An error without details.
    pub fn new(kind: impl Into<String>, msg: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            msg: msg.into(),
            details: Map::new(),
        }
    }

    /// True if this is a normal end of a slot, as of a query for nodes whose last run failed.
    pub(crate) fn is_normal(&self) -> bool {
        self.kind == EMPTY_TARGET
    }

    /// The error as JSON, for the store.
    pub(crate) fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

// Omits the values of secrets and parameters.
partial_debug!(SlotJob {
    id,
    kind,
    name,
    owner,
    sensitive
});
