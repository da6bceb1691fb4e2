//! Task targets: sets of tasks and nodes that a role can permit as one instance.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{ApiError, strict};

/// Body of `POST command/task_target`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskTargetCommand {
    /// Name that lists show; not unique.
    pub display_name: String,
    /// Names of the permitted tasks; may be absent with `all_tasks`.
    #[serde(default)]
    pub tasks: Option<Vec<String>>,
    /// Permit all tasks; then `tasks` is ignored.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    pub all_tasks: bool,
    /// Certnames of the nodes.
    pub nodes: Vec<String>,
    /// UUIDs of the node groups whose nodes belong to the target.
    pub node_groups: Vec<String>,
    /// PQL query whose rows have a certname; absent: none.
    #[serde(default)]
    pub pql_query: Option<String>,
}

/// Reply to `POST command/task_target`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskTargetCreated {
    /// URL and number of the new task target.
    pub task_target: TaskTargetRef,
}

/// URL and number of a task target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskTargetRef {
    /// Absolute URL of the task target.
    pub id: String,
    /// Number of the task target, as text: the instance of `tasks:run_with_constraints`.
    pub name: String,
}

/// Reply to `GET scopes/task_targets`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskTargetList {
    /// All task targets, sorted by number.
    pub items: Vec<TaskTarget>,
}

/// A task target: tasks and the nodes that they may run on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskTarget {
    /// Absolute URL of the task target.
    pub id: String,
    /// Number of the task target, as text.
    pub name: String,
    /// Name that lists show; not unique.
    pub display_name: String,
    /// Names of the permitted tasks; empty with `all_tasks`.
    pub tasks: Vec<String>,
    /// True if all tasks are permitted.
    pub all_tasks: bool,
    /// Certnames of the nodes.
    pub nodes: Vec<String>,
    /// UUIDs of the node groups whose nodes belong to the target.
    pub node_groups: Vec<String>,
    /// PQL query whose rows have a certname; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pql_query: Option<String>,
}

impl TaskTargetCommand {
    /// Checks the limits that the types do not express.
    ///
    /// # Errors
    /// A validation error that names the place.
    pub fn check(&self) -> Result<(), ApiError> {
        if self.display_name.trim().is_empty() {
            return Err(ApiError::invalid("display_name", "is blank"));
        }
        if self.tasks.is_none() && !self.all_tasks {
            let what = "name tasks here, or set all_tasks to true";
            return Err(ApiError::invalid("tasks", what));
        }
        if self
            .pql_query
            .as_ref()
            .is_some_and(|query| query.trim().is_empty())
        {
            return Err(ApiError::invalid("pql_query", "is blank"));
        }
        Ok(())
    }
}
