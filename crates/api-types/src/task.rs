//! `POST command/task`: run a task on nodes.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::defaults::{DESCRIPTION_CHARS, ENVIRONMENT, TIMEOUT_SECONDS, USERDATA_BYTES};
use crate::scope::Scope;
use crate::strict;
use crate::{ApiError, Object};

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
    /// Connection data for nodes without an agent; must be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    pub targets: Vec<Value>,
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
        if !self.targets.is_empty() {
            return Err(ApiError::invalid(
                "targets",
                "SSH and WinRM targets come later; for now every node needs an agent, so leave \
                 this key away or empty",
            ));
        }
        if self.concurrency == Some(0) {
            return Err(ApiError::invalid("concurrency", "must be at least 1"));
        }
        if self
            .timeout
            .is_some_and(|seconds| seconds > TIMEOUT_SECONDS)
        {
            let what = format!("must be at most {TIMEOUT_SECONDS} seconds (30 days)");
            return Err(ApiError::invalid("timeout", what));
        }
        if self.description.chars().count() > DESCRIPTION_CHARS {
            let what = format!("must have at most {DESCRIPTION_CHARS} characters");
            return Err(ApiError::invalid("description", what));
        }
        if json!(self.userdata).to_string().len() > USERDATA_BYTES {
            let what = format!("must have at most {USERDATA_BYTES} bytes as JSON");
            return Err(ApiError::invalid("userdata", what));
        }
        Ok(())
    }
}

fn production() -> String {
    ENVIRONMENT.to_owned()
}
