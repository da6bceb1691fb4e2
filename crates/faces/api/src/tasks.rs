//! The tasks of an environment: `GET tasks`, `GET tasks/:module/:task` and its `permitted`.

use api_types::tasks::{EnvironmentParam, TasksQuery};
use api_types::{
    ApiError, Object, TaskDetail, TaskFile, TaskFileUri, TaskList, TaskListItem, TaskPermitted,
};
use axum::Json;
use axum::extract::State;
use environments::EnvironmentTask;
use pxp::task::TaskName;
use rbac::TaskScope;
use serde_json::Value;

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::caller::ApiCaller;
use crate::code;
use crate::failure::ApiFailure;
use crate::request_parameters::{PathVariables, QueryParameters};

/// Lists tasks without private ones, which are for other tasks and plans; they can be shown and
/// run.
pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    QueryParameters(given): QueryParameters,
) -> Result<Json<TaskList>, ApiFailure> {
    let query = TasksQuery::read(given)?;
    let (environment, tasks) = code::read(&api, &query.environment, |code| code.tasks()).await?;
    // Read once instead of for each task.
    let targets = api.access.permitted_targets(&caller.0).await?;
    let may_run = |name: &TaskName| {
        let access = &api.access;
        let right = access.task_right_in(&caller.0, &targets, name.as_str(), &environment.name);
        right.scope != TaskScope::None
    };
    let public = tasks.into_iter().filter(|task| !task.private);
    let items = public.map(|task| TaskListItem {
        id: address(&base, &task.name),
        name: task.name.to_string(),
        permitted: may_run(&task.name),
        description: task.description,
        error: task.problem.map(code::to_error_body),
    });
    let items = items.collect();
    Ok(Json(TaskList { environment, items }))
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    PathVariables((module, task)): PathVariables<(String, String)>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<TaskDetail>, ApiFailure> {
    let (query, name) = (TasksQuery::read(given)?, task_name(&module, &task)?);
    let asked = name.clone();
    let (environment, task) =
        code::read(&api, &query.environment, move |code| code.task(&asked)).await?;
    Ok(Json(TaskDetail {
        id: address(&base, &name),
        name: name.to_string(),
        metadata: metadata(&task),
        files: files(&task, &environment.name),
        permitted: may_run(&api, &caller, &name, &environment.name).await?,
        environment,
    }))
}

pub(crate) async fn show_permitted_nodes(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables((module, task)): PathVariables<(String, String)>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<TaskPermitted>, ApiFailure> {
    let (query, name) = (TasksQuery::read(given)?, task_name(&module, &task)?);
    let asked = name.clone();
    let read = code::read(&api, &query.environment, move |code| code.task(&asked));
    let (environment, _) = read.await?;
    Ok(Json(TaskPermitted {
        permitted: may_run(&api, &caller, &name, &environment.name).await?,
    }))
}

/// True if there can be nodes on which the caller may run the task of this environment.
async fn may_run(
    api: &SharedApiContext,
    caller: &ApiCaller,
    name: &TaskName,
    environment: &str,
) -> Result<bool, ApiFailure> {
    let right = api.access.task_right(&caller.0, name.as_str(), environment);
    Ok(right.await?.scope != TaskScope::None)
}

fn task_name(module: &str, task: &str) -> Result<TaskName, ApiError> {
    TaskName::from_parts(module, task).map_err(|error| ApiError::invalid("task", error))
}

fn address(base: &BaseUrl, name: &TaskName) -> String {
    base.orchestrator_url(&format!("tasks/{}/{}", name.module(), name.task()))
}

fn metadata(task: &EnvironmentTask) -> Object {
    match serde_json::to_value(&task.metadata) {
        Ok(Value::Object(metadata)) => metadata,
        // It was parsed from a JSON object.
        _ => Object::new(),
    }
}

fn files(task: &EnvironmentTask, environment: &str) -> Vec<TaskFile> {
    let params = EnvironmentParam {
        environment: environment.to_owned(),
    };
    let file = |file: &environments::TaskSourceFile| TaskFile {
        filename: file.filename.to_string(),
        uri: TaskFileUri {
            path: file.uri_path.clone(),
            params: params.clone(),
        },
        sha256: file.sha256.to_string(),
        size_bytes: file.size_bytes,
    };
    task.files.iter().map(file).collect()
}
