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

use crate::Shared;
use crate::base::BaseUrl;
use crate::body::StrictBody;
use crate::code;
use crate::connections::over_ssh;
use crate::failure::Failure;
use crate::guard::Caller;
use crate::near_names::with_near_names;
use crate::plans;
use crate::refusals::{scope_refusal, submit_refusal};
use crate::scope::engine_scope;
use crate::task_rights::{PermittedNodes, permitted};

pub(crate) async fn run(
    State(api): State<Shared>,
    base: BaseUrl,
    caller: Caller,
    StrictBody(command): StrictBody<TaskCommand>,
) -> Result<(StatusCode, Json<JobCreated>), Failure> {
    if command.plan_job.is_some() {
        let what = "only command/plan_task takes this key";
        return Err(ApiError::invalid("plan_job", what).into());
    }
    let (request, dropped) = Box::pin(prepared(&api, &caller, command)).await?;
    let number = started(&api, request).await?;
    let created = JobCreated {
        job: base.job(number),
        not_permitted: dropped,
    };
    Ok((StatusCode::ACCEPTED, Json(created)))
}

/// Creates the job.
pub(crate) async fn started(api: &Shared, request: TaskRequest) -> Result<JobNumber, Failure> {
    match api.jobs.run_task(request).await {
        Ok(number) => Ok(number),
        Err(error) => Err(with_near_names(api, refusal(error)).await),
    }
}

/// The request for the engine, on the permitted nodes; and the other nodes.
pub(crate) async fn prepared(
    api: &Shared,
    caller: &Caller,
    mut command: TaskCommand,
) -> Result<(TaskRequest, Vec<String>), Failure> {
    command.check()?;
    // The permission is checked for the canonical name: `package::init` is `package`.
    let name: TaskName = command
        .task
        .parse()
        .map_err(|error| ApiError::invalid("task", error))?;
    let targets = std::mem::take(&mut command.targets);
    let mut request = request(api, caller, command)?;
    let PermittedNodes { nodes, dropped } =
        permitted(api, caller, &name, &request.environment, &request.scope).await?;
    request.nodes = nodes;
    over_ssh(api, caller, &name, &mut request, targets).await?;
    Ok((request, dropped))
}

fn request(api: &Shared, caller: &Caller, command: TaskCommand) -> Result<TaskRequest, Failure> {
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

/// 0 means no limit, which the engine does not support: the longest one.
pub(crate) fn timeout(seconds: u64) -> Duration {
    Duration::from_secs(if seconds == 0 {
        TIMEOUT_SECONDS
    } else {
        seconds
    })
}

fn refusal(error: RunTaskError) -> Failure {
    let text = error.to_string();
    let invalid = |place: &str| ApiError::invalid(place, &text);
    let refused = match error {
        RunTaskError::EnvironmentName { .. } => invalid("environment"),
        RunTaskError::TaskName { .. } => invalid("task"),
        RunTaskError::UnknownEnvironment(error)
        | RunTaskError::UnknownTask(error)
        | RunTaskError::Code(error) => return code::refusal(error),
        RunTaskError::Scope(error) => return scope_refusal(&error),
        RunTaskError::Parameters { problems, .. } => {
            invalid("params").with("params", listed(&problems))
        }
        RunTaskError::NoopUnsupported(_) => invalid("noop"),
        RunTaskError::Limit(_) => ApiError::new(kinds::VALIDATION, &text),
        RunTaskError::Plan(error) => return plans::refusal(error),
        RunTaskError::Submit(error) => return submit_refusal(&error),
        _ => return Failure::internal("run the task", &error),
    };
    Failure(refused)
}

fn listed(problems: &[ParamProblem]) -> Value {
    problems
        .iter()
        .map(|problem| Value::String(problem.to_string()))
        .collect()
}
