//! `POST command/task`: run a task on nodes.

use std::time::Duration;

use api_types::defaults::TIMEOUT_SECONDS;
use api_types::{ApiError, JobCreated, TaskCommand, kinds};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jobs::{RunTaskError, TaskRequest};
use pxp::task::{ParamProblem, TaskName};
use serde_json::Value;

use crate::Shared;
use crate::base::Base;
use crate::body::Strict;
use crate::failure::Failure;
use crate::guard::Caller;
use crate::scope::engine_scope;
use crate::tasks::code_refusal;

pub(crate) async fn run(
    State(api): State<Shared>,
    base: Base,
    caller: Caller,
    Strict(command): Strict<TaskCommand>,
) -> Result<(StatusCode, Json<JobCreated>), Failure> {
    command.check()?;
    // Asked about the name in its one form: `package::init` is `package`.
    let name: TaskName = command
        .task
        .parse()
        .map_err(|error| ApiError::invalid("task", error))?;
    caller.demand(&api, "tasks", "run", name.as_str())?;
    let request = request(command, &caller)?;
    let number = api.jobs.run_task(request).await.map_err(refusal)?;
    let created = JobCreated {
        job: base.job(number),
        not_permitted: Vec::new(),
    };
    Ok((StatusCode::ACCEPTED, Json(created)))
}

fn request(command: TaskCommand, caller: &Caller) -> Result<TaskRequest, ApiError> {
    Ok(TaskRequest {
        environment: command.environment,
        task: command.task,
        params: command.params,
        scope: engine_scope(command.scope)?,
        noop: command.noop,
        description: command.description,
        userdata: command.userdata,
        timeout: command.timeout.map(timeout),
        concurrency: command
            .concurrency
            .and_then(|nodes| usize::try_from(nodes).ok()),
        owner: caller.0.login.clone(),
        ..TaskRequest::default()
    })
}

/// 0 is no limit, which the engine does not know: the longest one.
fn timeout(seconds: u64) -> Duration {
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
        | RunTaskError::Code(error) => return code_refusal(error),
        RunTaskError::EmptyTarget => ApiError::new(kinds::EMPTY_TARGET, &text),
        RunTaskError::TooManyNodes(_) => invalid("scope.nodes"),
        RunTaskError::Parameters { problems, .. } => {
            invalid("params").with("params", listed(&problems))
        }
        RunTaskError::NoopUnsupported(_) => invalid("noop"),
        RunTaskError::Limit(_) => ApiError::new(kinds::VALIDATION, &text),
        RunTaskError::ShuttingDown => ApiError::new(kinds::UNAVAILABLE, &text),
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
