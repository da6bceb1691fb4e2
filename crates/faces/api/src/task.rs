//! `POST command/task`: runs a task on nodes.

use std::time::Duration;

use api_types::defaults::TIMEOUT_SECONDS;
use api_types::{ApiError, JobCreated, TaskCommand, kinds};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use environments::ParamProblem;
use jobs::{RunTaskError, TaskRequest};
use pxp::task::TaskName;
use serde_json::Value;
use store::JobNumber;

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::code;
use crate::connections::add_ssh_targets;
use crate::failure::ApiFailure;
use crate::guard::ApiCaller;
use crate::near_names::with_near_names;
use crate::plans;
use crate::refusals::{scope_refusal, submit_refusal};
use crate::scope::engine_scope;
use crate::task_rights::{PermittedNodes, permitted_nodes};

pub(crate) async fn run(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    StrictBody(command): StrictBody<TaskCommand>,
) -> Result<(StatusCode, Json<JobCreated>), ApiFailure> {
    if command.plan_job.is_some() {
        let what = "only command/plan_task takes this key";
        return Err(ApiError::invalid("plan_job", what).into());
    }
    let (request, dropped) = Box::pin(prepare_task(&api, &caller, command)).await?;
    let number = create_job(&api, request).await?;
    let created = JobCreated {
        job: base.job_url(number),
        not_permitted: dropped,
    };
    Ok((StatusCode::ACCEPTED, Json(created)))
}

/// Creates the job.
pub(crate) async fn create_job(
    api: &SharedApiContext,
    request: TaskRequest,
) -> Result<JobNumber, ApiFailure> {
    match api.jobs.run_task(request).await {
        Ok(number) => Ok(number),
        Err(error) => Err(with_near_names(api, run_task_error(error)).await),
    }
}

/// The request for the engine, on the permitted nodes; and the other nodes.
pub(crate) async fn prepare_task(
    api: &SharedApiContext,
    caller: &ApiCaller,
    mut command: TaskCommand,
) -> Result<(TaskRequest, Vec<String>), ApiFailure> {
    command.check()?;
    // The permission is checked for the canonical name: `package::init` is `package`.
    let name: TaskName = command
        .task
        .parse()
        .map_err(|error| ApiError::invalid("task", error))?;
    let targets = std::mem::take(&mut command.targets);
    let mut request = request(api, caller, command)?;
    let PermittedNodes { nodes, dropped } =
        permitted_nodes(api, caller, &name, &request.environment, &request.scope).await?;
    request.nodes = nodes;
    add_ssh_targets(api, caller, &name, &mut request, targets).await?;
    Ok((request, dropped))
}

fn request(
    api: &SharedApiContext,
    caller: &ApiCaller,
    command: TaskCommand,
) -> Result<TaskRequest, ApiFailure> {
    let rollout = command.rollout();
    let scope = command.scope.into_kind()?;
    Ok(TaskRequest {
        environment: command.environment,
        task: command.task,
        params: command.params,
        scope: engine_scope(api, caller, scope)?,
        noop: command.noop,
        description: command.description,
        userdata: command.userdata,
        timeout: command.timeout.map(timeout),
        concurrency: command
            .concurrency
            .and_then(|nodes| usize::try_from(nodes).ok()),
        rollout,
        owner: caller.0.login.clone(),
        owner_id: caller.0.user_id.clone(),
        ..TaskRequest::default()
    })
}

/// Converts a timeout. 0 means no limit, which the engine does not support: its maximum is used.
pub(crate) fn timeout(seconds: u64) -> Duration {
    Duration::from_secs(if seconds == 0 {
        TIMEOUT_SECONDS
    } else {
        seconds
    })
}

fn run_task_error(error: RunTaskError) -> ApiFailure {
    let text = error.to_string();
    let invalid = |place: &str| ApiError::invalid(place, &text);
    let refused = match error {
        RunTaskError::EnvironmentName { .. } => invalid("environment"),
        RunTaskError::TaskName { .. } => invalid("task"),
        RunTaskError::UnknownEnvironment(error)
        | RunTaskError::UnknownTask(error)
        | RunTaskError::Code(error) => return code::code_error(error),
        RunTaskError::Scope(error) => return scope_refusal(&error),
        RunTaskError::Parameters { problems, .. } => {
            invalid("params").with("params", problems_json(&problems))
        }
        RunTaskError::NoopUnsupported(_) => invalid("noop"),
        RunTaskError::Limit(_) => ApiError::new(kinds::VALIDATION, &text),
        RunTaskError::Plan(error) => return plans::plan_job_error(error),
        RunTaskError::Submit(error) => return submit_refusal(&error),
        _ => return ApiFailure::internal("run the task", &error),
    };
    ApiFailure(refused)
}

fn problems_json(problems: &[ParamProblem]) -> Value {
    problems
        .iter()
        .map(|problem| Value::String(problem.to_string()))
        .collect()
}
