//! Request for the description of a task: [`fetch_task_detail`].

use api_types::TaskDetail;

use crate::Result;
use crate::client::ApiClient;

/// `module::task` as the two segments of its route.
pub(crate) fn split_name(task: &str) -> (&str, &str) {
    task.split_once("::").unwrap_or((task, "init"))
}

/// The server's description of a task.
pub(crate) async fn fetch_task_detail(
    client: &ApiClient,
    task: &str,
    environment: &str,
) -> Result<TaskDetail> {
    let (module, name) = split_name(task);
    let path = ["orchestrator", "v1", "tasks", module, name];
    client.get(&path, &[("environment", environment)]).await
}
