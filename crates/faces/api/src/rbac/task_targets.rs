//! Task targets: tasks on nodes that a role can permit.

use api_types::rbac::{
    TaskTarget, TaskTargetCommand, TaskTargetCreated, TaskTargetList, TaskTargetRef,
};
use api_types::{ApiError, kinds};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use pxp::task::TaskName;
use rbac::{ManageError, TaskTargetRecord};
use serde_json::json;

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::PathVariables;

pub(crate) async fn create(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    StrictBody(asked): StrictBody<TaskTargetCommand>,
) -> Result<Json<TaskTargetCreated>, ApiFailure> {
    asked.check()?;
    let tasks = asked.tasks.filter(|_| !asked.all_tasks);
    let target = TaskTargetRecord {
        id: 0,
        display_name: asked.display_name,
        tasks: tasks.as_deref().map(task_names).transpose()?,
        nodes: asked.nodes,
        node_groups: asked.node_groups,
        pql_query: asked.pql_query,
    };
    let made = Box::pin(api.access.create_task_target(&caller.0, target)).await;
    let id = made.map_err(task_target_error)?;
    let task_target = TaskTargetRef {
        id: address(&base, id),
        name: id.to_string(),
    };
    Ok(Json(TaskTargetCreated { task_target }))
}

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
) -> Result<Json<TaskTargetList>, ApiFailure> {
    let targets = api.access.task_targets().await?.into_iter();
    let items = targets
        .map(|target| task_target_reply(&base, target))
        .collect();
    Ok(Json(TaskTargetList { items }))
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    PathVariables(given): PathVariables<String>,
) -> Result<Json<TaskTarget>, ApiFailure> {
    let id = number(&given)?;
    let target = api
        .access
        .task_target(id)
        .await
        .map_err(task_target_error)?;
    Ok(Json(task_target_reply(&base, target)))
}

pub(crate) async fn delete(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(given): PathVariables<String>,
) -> Result<StatusCode, ApiFailure> {
    let id = number(&given)?;
    let deleted = Box::pin(api.access.delete_task_target(&caller.0, id)).await;
    deleted.map_err(task_target_error)?;
    Ok(StatusCode::NO_CONTENT)
}

fn number(given: &str) -> Result<i64, ApiError> {
    let digits = given.bytes().all(|byte| byte.is_ascii_digit());
    let id = given.parse().ok().filter(|_| digits);
    id.ok_or_else(|| ApiError::invalid("task_target", "not a number"))
}

/// Canonical names, as used in permission checks: `package::init` is `package`.
fn task_names(names: &[String]) -> Result<Vec<String>, ApiError> {
    let name = |(i, text): (usize, &String)| {
        let parsed = text.parse::<TaskName>();
        let name = parsed.map_err(|error| ApiError::invalid(&format!("tasks[{i}]"), error));
        name.map(|name| name.to_string())
    };
    names.iter().enumerate().map(name).collect()
}

/// Errors with the kinds of the orchestrator, whose routes these are.
fn task_target_error(error: ManageError) -> ApiFailure {
    let text = error.to_string();
    match error {
        ManageError::Denied(denied) => denied.into(),
        ManageError::Unknown { id, .. } => {
            let unknown = ApiError::new(kinds::UNKNOWN_TASK_TARGET, text);
            unknown.with("task_target", json!(id)).into()
        }
        ManageError::Invalid { place, what } => ApiError::invalid(place, what).into(),
        error => error.into(),
    }
}

fn address(base: &BaseUrl, id: i64) -> String {
    base.orchestrator_url(&format!("scopes/task_targets/{id}"))
}

fn task_target_reply(base: &BaseUrl, target: TaskTargetRecord) -> TaskTarget {
    TaskTarget {
        id: address(base, target.id),
        name: target.id.to_string(),
        display_name: target.display_name,
        all_tasks: target.tasks.is_none(),
        tasks: target.tasks.unwrap_or_default(),
        nodes: target.nodes,
        node_groups: target.node_groups,
        pql_query: target.pql_query,
    }
}
