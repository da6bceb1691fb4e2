//! `POST command/action`: run a command or a script on nodes, or put a file in place there.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::defaults::ENVIRONMENT;
use crate::rollout::{BatchSizes, Portion, RolloutOptions};
use crate::scope::Scope;
use crate::{ApiError, Object, limits, strict};

/// The request. The parameters are those of the task `bolt_shim::<type>`, whose permission is needed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionCommand {
    /// The kind of action.
    #[serde(rename = "type")]
    pub kind: ActionType,
    /// `command`; or `content` (Base64), `name` and `arguments` of a script; or `content` (Base64), `name` and
    /// `path` of a file.
    #[schema(value_type = Object)]
    pub params: Object,
    /// The nodes.
    #[serde(deserialize_with = "strict::keyed")]
    pub scope: Scope,
    /// The environment that rights are bound to.
    #[serde(default = "production")]
    #[schema(default = "production")]
    pub environment: String,
    /// The user of the nodes who runs it; absent: the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<String>,
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
}

/// The kind of action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ActionType {
    /// A line for the shell.
    Command,
    /// A script that is sent with the request.
    Script,
    /// A file that is sent with the request.
    Upload,
}

impl ActionCommand {
    /// Checks what the types alone do not say.
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
