//! Names of tasks in plans: [`parse_task_name`].

use pxp::task::{TaskName, TaskNameError};
use serde_json::{Value as Json, json};

/// Parses the name of a task; the error is the one that the plan gets.
pub(crate) fn parse_task_name(text: &str) -> Result<TaskName, Json> {
    text.parse().map_err(|error: TaskNameError| {
        let msg = format!("`{text}` is not a task's name: {error}");
        json!({"kind": "bolt/unknown-task", "msg": msg, "details": {}})
    })
}
