//! How a slot becomes a job: [`Launch`], and who is told of it: [`Record`].
//!
//! The rule: whoever implements [`Launch`] writes the [`SlotKey`] in the transaction of the job, so
//! that a launch that is repeated after a crash cannot make a second one.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::{LaunchedJob, SlotKey};

use crate::decide::Skip;
use crate::draft::Kind;

/// Makes jobs.
#[async_trait]
pub trait Launch: Send + Sync + 'static {
    /// Makes the job of a slot, with the rights that the owner has now.
    async fn launch(
        &self,
        job: &ScheduledJob,
        slot: SlotKey,
    ) -> Result<LaunchedJob, SubmissionError>;
}

/// Keeps a record of what the clock starts.
#[async_trait]
pub trait Record: Send + Sync + 'static {
    /// Before anything starts. An error says why this cannot be recorded; nothing starts then.
    async fn firing(&self, firing: &Firing) -> Result<(), String>;

    /// What came of it.
    async fn fired(&self, firing: &Firing, outcome: &Outcome);
}

/// A slot about to run, or left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firing {
    /// Which slot.
    pub slot: SlotKey,
    /// Of what kind the job is.
    pub kind: Kind,
    /// The task or plan; empty for a Puppet run.
    pub name: String,
    /// With whose rights.
    pub owner: String,
    /// That user's id.
    pub owner_id: String,
}

/// What came of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This job.
    Launched(LaunchedJob),
    /// No job.
    Refused(SubmissionError),
    /// It was left out.
    Skipped(Skip),
}

/// No record.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRecord;

#[async_trait]
impl Record for NoRecord {
    async fn firing(&self, _: &Firing) -> Result<(), String> {
        Ok(())
    }

    async fn fired(&self, _: &Firing, _: &Outcome) {}
}

/// What is to be launched.
#[derive(Clone, PartialEq)]
pub struct ScheduledJob {
    /// The schedule's number.
    pub id: i64,
    /// Of what kind.
    pub kind: Kind,
    /// The task or plan; empty for a Puppet run.
    pub name: String,
    /// May be empty.
    pub environment: String,
    /// The owner's login, when the schedule was made.
    pub owner: String,
    /// The owner's id.
    pub owner_id: String,
    /// Free text.
    pub description: String,
    /// Free keys and values.
    pub userdata: Map<String, Value>,
    /// Everything but the name and the secrets, as the API has it.
    pub input: Map<String, Value>,
    /// Names of the secret parameters.
    pub sensitive: Vec<String>,
    /// Their values.
    pub secrets: Map<String, Value>,
}

/// Why a slot has no job. It is kept with the slot and shown as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{msg} ({kind})")]
pub struct SubmissionError {
    /// For example `puppetlabs.orchestrator/not-permitted`.
    pub kind: String,
    /// For people.
    pub msg: String,
    /// For programs.
    pub details: Map<String, Value>,
}

/// The server went down between the claim and the job; nothing was started.
pub(crate) const INTERRUPTED: &str = "tutti/submission-interrupted";
/// No answer in time.
pub(crate) const UNKNOWN: &str = "tutti/submission-unknown";
/// The schedule cannot be launched at all.
pub(crate) const BROKEN: &str = "tutti/submission-broken";
/// The record could not be written.
pub(crate) const UNRECORDED: &str = "tutti/submission-unrecorded";
/// The launch goes on.
pub(crate) const PENDING: &str = "tutti/submission-pending";

// === impl SubmissionError ===

impl SubmissionError {
    /// Without details.
    pub fn new(kind: impl Into<String>, msg: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            msg: msg.into(),
            details: Map::new(),
        }
    }

    /// As it is kept.
    pub(crate) fn json(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

/// Never the values of secrets or parameters.
impl fmt::Debug for ScheduledJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduledJob")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .field("name", &self.name)
            .field("owner", &self.owner)
            .field("sensitive", &self.sensitive)
            .finish_non_exhaustive()
    }
}
