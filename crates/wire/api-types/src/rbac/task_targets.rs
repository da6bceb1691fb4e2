//! Task targets: tasks on nodes as one thing that a role can permit.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{ApiError, strict};

/// `POST command/task_target`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskTargetCommand {
    /// For people; not unique.
    pub display_name: String,
    /// Names of tasks.
    #[serde(default)]
    pub tasks: Option<Vec<String>>,
    /// All tasks, whatever `tasks` says.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    pub all_tasks: bool,
    /// Certnames.
    pub nodes: Vec<String>,
    /// UUIDs of node groups.
    pub node_groups: Vec<String>,
    /// A query whose rows have a certname.
    #[serde(default)]
    pub pql_query: Option<String>,
}

/// The reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskTargetCreated {
    /// The new target.
    pub task_target: TaskTargetRef,
}

/// A target's address and number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskTargetRef {
    /// Its absolute URL.
    pub id: String,
    /// Its number, as text: the instance of `tasks:run_with_constraints`.
    pub name: String,
}

/// `GET scopes/task_targets`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskTargetList {
    /// All targets, by number.
    pub items: Vec<TaskTarget>,
}

/// A target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskTarget {
    /// Its absolute URL.
    pub id: String,
    /// Its number, as text.
    pub name: String,
    /// For people.
    pub display_name: String,
    /// Names of tasks; empty with `all_tasks`.
    pub tasks: Vec<String>,
    /// All tasks.
    pub all_tasks: bool,
    /// Certnames.
    pub nodes: Vec<String>,
    /// UUIDs of node groups.
    pub node_groups: Vec<String>,
    /// A query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pql_query: Option<String>,
}

impl TaskTargetCommand {
    /// What the types do not say.
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
