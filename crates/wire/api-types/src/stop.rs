//! `POST command/stop`: end a job.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::strict;

/// The request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StopCommand {
    /// The job's number, as text.
    #[schema(example = "1234")]
    pub job: String,
    /// Also end what runs already.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub force: bool,
}

/// The reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StopReply {
    /// The job.
    pub job: StoppedJob,
}

/// The job, and how its nodes stood when the stop was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoppedJob {
    /// The job's absolute URL.
    pub id: String,
    /// The job's number, as text.
    pub name: String,
    /// Nodes per state.
    pub nodes: NodeCounts,
}

/// Nodes per state; `new` has those that are ready as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct NodeCounts {
    /// Not started.
    pub new: u64,
    /// Running.
    pub running: u64,
    /// Ended with a failure of the task.
    pub failed: u64,
    /// Could not run, or nobody knows how it ended.
    pub errored: u64,
    /// Left out.
    pub skipped: u64,
    /// Ended well.
    pub finished: u64,
}
