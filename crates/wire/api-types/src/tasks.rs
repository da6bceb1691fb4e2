//! `GET tasks`, `GET tasks/:module/:task` and `GET tasks/:module/:task/permitted`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::defaults::ENVIRONMENT;
use crate::parameters::Parameters;
use crate::{ApiError, ErrorBody, Object};

/// The tasks of an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskList {
    /// Which environment.
    pub environment: EnvironmentCode,
    /// The tasks, by name.
    pub items: Vec<TaskListItem>,
}

/// An environment and the version of its code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnvironmentCode {
    /// The name.
    pub name: String,
    /// The version of the code; null when it is not versioned.
    #[serde(default)]
    #[schema(example = "urn:puppet:code-id:1:0123abcd;production")]
    pub code_id: Option<String>,
}

/// One task of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskListItem {
    /// The task's absolute URL, `…/tasks/<module>/<task or init>`.
    pub id: String,
    /// `module` or `module::task`.
    pub name: String,
    /// Whether the user may run it, at least on some nodes.
    #[serde(default)]
    pub permitted: bool,
    /// From its metadata; absent where that has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The reason why the task cannot be run as it is; absent: it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// One task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskDetail {
    /// The task's absolute URL.
    pub id: String,
    /// `module` or `module::task`.
    pub name: String,
    /// Which environment.
    pub environment: EnvironmentCode,
    /// The task's metadata file.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Object,
    /// The files that the task consists of.
    #[serde(default)]
    pub files: Vec<TaskFile>,
    /// Whether the user may run it.
    #[serde(default)]
    pub permitted: bool,
}

/// A file of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskFile {
    /// Its name on the node.
    pub filename: String,
    /// Where the server has it.
    pub uri: TaskFileUri,
    /// Hexadecimal.
    pub sha256: String,
    /// In bytes.
    pub size_bytes: u64,
}

/// Where a file is, below `/puppet/v3/file_content`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskFileUri {
    /// The path.
    pub path: String,
    /// Query parameters.
    pub params: EnvironmentParam,
}

/// The query parameter of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnvironmentParam {
    /// The environment.
    pub environment: String,
}

/// Whether the user may run a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskPermitted {
    /// The answer.
    pub permitted: bool,
}

/// The query of the task routes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TasksQuery {
    /// `production` when absent.
    pub environment: String,
}

impl TasksQuery {
    /// From query parameters.
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
