//! `POST command/stop`: stop a job.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::strict;

/// Body of `POST command/stop`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StopCommand {
    /// The job's number, as text.
    #[schema(example = "1234")]
    pub job: String,
    /// Also stop the nodes that are already running.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub force: bool,
}

/// Reply to `POST command/stop`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StopReply {
    /// Job that is being stopped.
    pub job: StoppedJob,
}

/// A job, with the states of its nodes at the time of the stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoppedJob {
    /// The job's absolute URL.
    pub id: String,
    /// The job's number, as text.
    pub name: String,
    /// Number of nodes in each state.
    pub nodes: NodeCounts,
}

/// Number of nodes in each state; `new` includes those that are ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct NodeCounts {
    /// Nodes that have not started.
    pub new: u64,
    /// Nodes that are running.
    pub running: u64,
    /// Nodes on which the task failed.
    pub failed: u64,
    /// Nodes that could not run, or whose result is unknown.
    pub errored: u64,
    /// Nodes that were skipped.
    pub skipped: u64,
    /// Nodes that finished successfully.
    pub finished: u64,
}
