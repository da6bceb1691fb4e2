//! Tasks: `GET tasks`, `GET tasks/:module/:task` and `GET tasks/:module/:task/permitted`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::defaults::ENVIRONMENT;
use crate::parameters::Parameters;
use crate::{ApiError, ErrorBody, Object};

/// The tasks of an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskList {
    /// Environment of the list, with its code version.
    pub environment: EnvironmentCode,
    /// Tasks of the environment, sorted by name; private ones are left out.
    pub items: Vec<TaskListItem>,
}

/// An environment with its code version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnvironmentCode {
    /// Name of the environment.
    pub name: String,
    /// Code version (code id); null if the environment is not versioned.
    #[serde(default)]
    #[schema(example = "urn:puppet:code-id:1:0123abcd;production")]
    pub code_id: Option<String>,
}

/// A task in the list of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskListItem {
    /// The task's absolute URL, `…/tasks/<module>/<task or init>`.
    pub id: String,
    /// Name of the task: `module` or `module::task`.
    pub name: String,
    /// True if the user may run the task, at least on some nodes.
    #[serde(default)]
    pub permitted: bool,
    /// Description from the task's metadata; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Reason for which the task cannot be run; absent if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// A task with its metadata and files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskDetail {
    /// The task's absolute URL.
    pub id: String,
    /// Name of the task: `module` or `module::task`.
    pub name: String,
    /// Environment of the task, with its code version.
    pub environment: EnvironmentCode,
    /// Content of the task's metadata file.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Object,
    /// The files that the task consists of.
    #[serde(default)]
    pub files: Vec<TaskFile>,
    /// True if the user may run the task, at least on some nodes.
    #[serde(default)]
    pub permitted: bool,
}

/// A file of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskFile {
    /// Name of the file on the node.
    pub filename: String,
    /// Location of the file on the server.
    pub uri: TaskFileUri,
    /// SHA-256 hash in hexadecimal digits.
    pub sha256: String,
    /// Size of the file in bytes.
    pub size_bytes: u64,
}

/// Location of a file below `/puppet/v3/file_content`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskFileUri {
    /// Path below the mount point.
    pub path: String,
    /// Query parameters of the URL.
    pub params: EnvironmentParam,
}

/// Query parameter of a task file's URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnvironmentParam {
    /// Name of the environment.
    pub environment: String,
}

/// Permission of the user to run a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskPermitted {
    /// True if the user may run it, at least on some nodes.
    pub permitted: bool,
}

/// The query of the task routes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TasksQuery {
    /// Name of the environment; `production` if the request names none.
    pub environment: String,
}

impl TasksQuery {
    /// Reads the query parameters.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let environment = given
            .text("environment")
            .unwrap_or_else(|| ENVIRONMENT.to_owned());
        given.finish()?;
        Ok(Self { environment })
    }
}
