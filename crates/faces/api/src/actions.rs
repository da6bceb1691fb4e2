//! `POST command/action`: commands, scripts and uploads on nodes, as in plans.
//!
//! Invariant: an action needs the permission for the task `bolt_shim::<type>` on its nodes, as it
//! does in plans and for clients that run that task.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::jobs::{FileContent, JobLimits, JobSpec, JobWork, NativeAction, TaskWork};
use api_types::{ActionCommand, ActionType, ApiError, JobCreated, Object};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pxp::task::TaskName;
use serde_json::Value;

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::defaults::ACTION_FILE_BYTES;
use crate::failure::ApiFailure;
use crate::job_specs::{caller_job, create_job, environment_name};
use crate::scope::engine_scope;
use crate::task_rights::{PermittedNodes, permitted_nodes};

pub(crate) async fn run(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    StrictBody(command): StrictBody<ActionCommand>,
) -> Result<(StatusCode, Json<JobCreated>), ApiFailure> {
    command.check()?;
    let limits = JobLimits::from_command(command.concurrency, command.timeout, command.rollout());
    let action = native(command.kind, &command.params)?;
    let mut params = command.params;
    if command.kind == ActionType::Upload {
        // The task receives only the path, not the name.
        params.remove("name");
    }
    let scope = engine_scope(&api, &caller, command.scope.into_kind()?)?;
    let task = TaskWork {
        params,
        run_as: command.run_as,
        ..TaskWork::new(
            environment_name(&command.environment)?,
            task_of(command.kind),
        )
    };
    let PermittedNodes { nodes, dropped } = permitted_nodes(&api, &caller, &task, &scope).await?;
    let work = JobWork::Native { action, task };
    let spec = JobSpec {
        nodes,
        description: command.description,
        userdata: command.userdata,
        ..caller_job(&caller, work, scope, limits)
    };
    let job = base.job_url(create_job(&api, spec).await?);
    Ok((
        StatusCode::ACCEPTED,
        Json(JobCreated {
            job,
            not_permitted: dropped,
        }),
    ))
}

/// The equivalent task, for agents without the module; the permission is checked for its name.
fn task_of(kind: ActionType) -> TaskName {
    let name = match kind {
        ActionType::Command => "bolt_shim::command",
        ActionType::Script => "bolt_shim::script",
        ActionType::Upload => "bolt_shim::upload",
    };
    name.parse().expect("these are names of tasks")
}

fn native(kind: ActionType, params: &Object) -> Result<NativeAction, ApiError> {
    Ok(match kind {
        ActionType::Command => NativeAction::Command {
            line: text(params, "command")?,
            env: BTreeMap::new(),
        },
        ActionType::Script => NativeAction::Script {
            file: content(params)?,
            arguments: arguments(params)?,
            env: BTreeMap::new(),
        },
        ActionType::Upload => NativeAction::Upload {
            file: content(params)?,
            destination: text(params, "path")?,
        },
    })
}

fn text(params: &Object, key: &str) -> Result<String, ApiError> {
    let place = format!("params.{key}");
    match params.get(key) {
        Some(Value::String(text)) if text.is_empty() => Err(ApiError::invalid(&place, "is empty")),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(ApiError::invalid(&place, "must be a string")),
        None => Err(ApiError::invalid(&place, "is missing")),
    }
}

fn content(params: &Object) -> Result<FileContent, ApiError> {
    let encoded = match params.get("content") {
        // Empty content is valid: it is that of an empty file.
        Some(Value::String(encoded)) => encoded,
        Some(_) => {
            return Err(ApiError::invalid(
                "params.content",
                "must be a string in Base64",
            ));
        }
        None => return Err(ApiError::invalid("params.content", "is missing")),
    };
    let bytes = STANDARD.decode(encoded).map_err(|_| {
        let what =
            "is not Base64: write A-Z, a-z, 0-9, + and / only, padded with = to groups of four";
        ApiError::invalid("params.content", what)
    })?;
    if bytes.len() > ACTION_FILE_BYTES {
        let what = format!(
            "has {} bytes; a file that is sent with a command has at most {} MiB",
            bytes.len(),
            ACTION_FILE_BYTES >> 20
        );
        return Err(ApiError::invalid("params.content", what));
    }
    Ok(FileContent {
        name: text(params, "name")?,
        bytes: Arc::from(bytes),
    })
}

fn arguments(params: &Object) -> Result<Vec<String>, ApiError> {
    let wrong = || ApiError::invalid("params.arguments", "must be an array of strings");
    let Some(arguments) = params.get("arguments") else {
        return Ok(Vec::new());
    };
    let arguments = arguments.as_array().ok_or_else(wrong)?;
    arguments
        .iter()
        .map(|one| one.as_str().map(str::to_owned).ok_or_else(wrong))
        .collect()
}
