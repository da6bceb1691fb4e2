//! `POST command/task`: run a task on nodes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::connections::Guarded;
use crate::defaults::ENVIRONMENT;
use crate::rollout::{BatchSizes, Portion, RolloutOptions};
use crate::scope::Scope;
use crate::{ApiError, Object, limits, strict};

/// The request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskCommand {
    /// The environment whose code has the task.
    #[serde(default = "production")]
    #[schema(default = "production")]
    pub environment: String,
    /// `module` or `module::task`.
    pub task: String,
    /// The task's parameters.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub params: Object,
    /// The nodes.
    #[serde(deserialize_with = "strict::keyed")]
    pub scope: Scope,
    /// How nodes of the scope are reached for this job: `hostnames`, `transport` (`ssh`), `user`,
    /// `password` or `private-key-content`, and the other keys of a connection.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "strict::null_is_default"
    )]
    #[schema(value_type = Option<Vec<Object>>)]
    pub targets: Vec<Guarded>,
    /// Run in no-operation mode; null is false.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub noop: bool,
    /// Free text.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub description: String,
    /// Free keys and values, given back with the job (ticket numbers and the like).
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Object)]
    pub userdata: Object,
    /// How long each node may take, in seconds; 0: no limit; absent: the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// How many nodes of this job run at once; absent: as many as the server allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub concurrency: Option<u32>,
    /// The sizes of the batches that the nodes are taken in: a number, a share such as `"10%"`, or a list of such sizes,
    /// whose last one repeats. A batch starts when the one before has ended. Absent: all nodes are one batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub batch: Option<BatchSizes>,
    /// Seconds between the end of a batch and the start of the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_between_batches: Option<u64>,
    /// How many nodes may fail, or which share of them (`"10%"`). With one more, no other node starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub max_failures: Option<Portion>,
    /// The plan job that this is a step of; only for `command/plan_task`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_job: Option<String>,
}

/// The reply of every command that makes a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobCreated {
    /// The new job.
    pub job: JobRef,
    /// Nodes that were left out because the user may not run the task there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_permitted: Vec<String>,
}

/// A job's address and number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobRef {
    /// The job's absolute URL.
    pub id: String,
    /// The job's number, as text.
    #[schema(example = "1234")]
    pub name: String,
}

impl TaskCommand {
    /// What the types alone do not say.
    ///
    /// # Errors
    /// A validation error that names the key.
    pub fn check(&self) -> Result<(), ApiError> {
        limits::check(self.concurrency, self.timeout)?;
        self.rollout().check()?;
        limits::check_texts(&self.description, &self.userdata)
    }

    /// The options that make it a rollout.
    pub fn rollout(&self) -> RolloutOptions {
        RolloutOptions {
            batch: self.batch.clone(),
            pause_between_batches: self.pause_between_batches,
            max_failures: self.max_failures,
        }
    }
}

fn production() -> String {
    ENVIRONMENT.to_owned()
}
