//! `POST command/action`: run a command or a script on nodes, or upload a file to them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::defaults::ENVIRONMENT;
use crate::rollout::{BatchSizes, Portion, RolloutOptions};
use crate::scope::Scope;
use crate::{ApiError, Object, limits, strict};

/// Body of `POST command/action`. The parameters are those of the task `bolt_shim::<type>`, and the
/// user needs the permission to run that task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionCommand {
    /// Kind of action: command, script or upload.
    #[serde(rename = "type")]
    pub kind: ActionType,
    /// `command`; or `content` (Base64), `name` and `arguments` of a script; or `content` (Base64),
    /// `name` and `path` of a file.
    #[schema(value_type = Object)]
    pub params: Object,
    /// Nodes that the command is for.
    #[serde(deserialize_with = "strict::deserialize_object")]
    pub scope: Scope,
    /// Environment to which the user's permissions are bound; `production` by default.
    #[serde(default = "production")]
    #[schema(default = "production")]
    pub environment: String,
    /// User of the nodes who runs the action; absent: the user of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<String>,
    /// Free text shown in lists and logs; may be empty.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub description: String,
    /// Arbitrary keys and values (ticket numbers, for example), returned unchanged with the job.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Object)]
    pub userdata: Object,
    /// Timeout for each node, in seconds; 0: 30 days, the longest; absent: the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// Number of nodes of this job that may run at the same time; absent: the server's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub concurrency: Option<u32>,
    /// Sizes of the batches: a number of nodes, a percentage such as `"10%"`, or a list of such
    /// sizes, of which the last one repeats. A batch starts when the previous one has ended.
    /// Absent: all nodes form one batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub batch: Option<BatchSizes>,
    /// Pause between the end of a batch and the start of the next one, in seconds; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_between_batches: Option<u64>,
    /// Number of nodes that may fail, or their percentage (`"10%"`). After one more failure no
    /// further node is started. Absent: any number may fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub max_failures: Option<Portion>,
    /// Time over which the starts of the nodes are spread evenly, in seconds. Absent: all nodes start as soon as they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub splay: Option<u64>,
}

/// Kind of action that nodes perform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ActionType {
    /// A command line for the shell.
    Command,
    /// A script that the request contains.
    Script,
    /// A file that the request contains.
    Upload,
}

impl ActionCommand {
    /// Checks the limits that the types do not express.
    ///
    /// # Errors
    /// A validation error that names the key.
    pub fn check(&self) -> Result<(), ApiError> {
        limits::check(self.concurrency, self.timeout)?;
        self.rollout().check()?;
        limits::check_texts(&self.description, &self.userdata)
    }

    /// Returns the batches, the pause between them, the tolerated failures and the splay of this job.
    pub fn rollout(&self) -> RolloutOptions {
        RolloutOptions {
            batch: self.batch.clone(),
            pause_between_batches: self.pause_between_batches,
            max_failures: self.max_failures,
            splay: self.splay,
        }
    }
}

fn production() -> String {
    ENVIRONMENT.to_owned()
}
