//! `POST command/task`: runs a task on nodes.

use api_types::{ApiError, JobCreated, TaskCommand};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jobs::{JobLimits, JobSpec, JobWork, TaskWork};
use pxp::task::TaskName;

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::connections::add_ssh_targets;
use crate::failure::ApiFailure;
use crate::job_specs::{caller_job, create_job, environment_name};
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
    let (spec, dropped) = Box::pin(prepare_task(&api, &caller, command)).await?;
    let number = create_job(&api, spec).await?;
    let created = JobCreated {
        job: base.job_url(number),
        not_permitted: dropped,
    };
    Ok((StatusCode::ACCEPTED, Json(created)))
}

/// The job for the engine, on the permitted nodes; and the other nodes.
pub(crate) async fn prepare_task(
    api: &SharedApiContext,
    caller: &ApiCaller,
    command: TaskCommand,
) -> Result<(JobSpec, Vec<String>), ApiFailure> {
    command.check()?;
    // The permission is checked for the canonical name: `package::init` is `package`.
    let name: TaskName = command
        .task
        .parse()
        .map_err(|error| ApiError::invalid("task", error))?;
    let limits = JobLimits::from_command(command.concurrency, command.timeout, command.rollout());
    let scope = engine_scope(api, caller, command.scope.into_kind()?)?;
    let mut task = TaskWork {
        params: command.params,
        noop: command.noop,
        ..TaskWork::new(environment_name(&command.environment)?, name)
    };
    let PermittedNodes { nodes, dropped } = permitted_nodes(api, caller, &task, &scope).await?;
    let nodes = add_ssh_targets(api, caller, &mut task, (&scope, nodes), command.targets).await?;
    let spec = JobSpec {
        nodes,
        description: command.description,
        userdata: command.userdata,
        ..caller_job(caller, JobWork::Task(task), scope, limits)
    };
    Ok((spec, dropped))
}
