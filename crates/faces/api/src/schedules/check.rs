//! Validates a scheduled job when it is created: permissions, parameters, and which of them are
//! sensitive.
//!
//! Invariant: a request that would be refused now is refused with the same error, unless only its query or node group has
//! no nodes yet; conditions that can change until the start (members of a node group, a task's metadata) are checked again
//! then.

use api_types::schedules::ScheduledInput;
use api_types::{ApiError, DeployCommand, TaskCommand};
use environments::validate_params;
use jobs::{JobSpec, NodeScope, RunJobError, ScopeError};
use pxp::task::TaskName;
use serde_json::{Value, json};

use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::code;
use crate::code_manager;
use crate::failure::ApiFailure;
use crate::job_specs::run_job_error;
use crate::refusals::scope_refusal;
use crate::{plans, puppet_runs, task};

/// Names of the sensitive parameters.
pub(super) async fn check(
    api: &SharedApiContext,
    caller: &ApiCaller,
    input: ScheduledInput,
) -> Result<Vec<String>, ApiFailure> {
    match input {
        ScheduledInput::Task(command) => Box::pin(check_task(api, caller, *command)).await,
        ScheduledInput::Deploy(command) => {
            Box::pin(check_deploy(api, caller, *command)).await?;
            Ok(Vec::new())
        }
        ScheduledInput::Converge(command) => {
            Box::pin(check_deploy(api, caller, command.deploy)).await?;
            Ok(Vec::new())
        }
        ScheduledInput::MultiPass(command) => {
            Box::pin(check_passes(api, caller, command.deploy)).await?;
            Ok(Vec::new())
        }
        ScheduledInput::Plan(command) => {
            let resolved: Vec<String> = command
                .params
                .iter()
                .filter(|(_, param)| param.kind.is_some())
                .map(|(name, _)| name.clone())
                .collect();
            let request = plans::run::prepare_plan(api, caller, *command).await?;
            let sensitive = request.sensitive();
            // Only parameter values are stored sealed, not node groups and queries.
            if let Some(name) = resolved.iter().find(|name| sensitive.contains(name)) {
                let place = format!("input.parameters.{name}.type");
                let what =
                    "must be absent: the parameter is secret, and a query or a node group is none";
                return Err(ApiError::invalid(&place, what).into());
            }
            Ok(sensitive.to_vec())
        }
    }
}

async fn check_task(
    api: &SharedApiContext,
    caller: &ApiCaller,
    command: TaskCommand,
) -> Result<Vec<String>, ApiFailure> {
    let name = command.task.parse::<TaskName>();
    name.map_err(|error| ApiError::invalid("input.name", error))?;
    code_manager::environment("environment", &command.environment)?;
    let (spec, _) = Box::pin(task::prepare_task(api, caller, command)).await?;
    let Some(task) = spec.work.task() else {
        return Ok(Vec::new());
    };
    let (name, environment) = (task.name.clone(), task.environment.as_str());
    let (_, code) = code::read(api, environment, move |code| code.task(&name)).await?;
    let metadata = code.metadata;
    let valid = validate_params(&metadata, &task.params).map_err(|problems| {
        let listed: Vec<Value> = problems.iter().map(|p| json!(p.to_string())).collect();
        let error = RunJobError::Parameters {
            task: task.name.clone(),
            problems,
        };
        ApiError::invalid("input.parameters", error).with("params", json!(listed))
    })?;
    if task.noop && !metadata.supports_noop {
        let error = RunJobError::NoopUnsupported(task.name.clone());
        return Err(ApiError::invalid("input.noop", error).into());
    }
    if spec.nodes.is_none() {
        check_scope(api, &spec, environment).await?;
    }
    // Only given parameters; a default in the metadata is not a secret.
    let given = |name: &String| task.params.contains_key(name);
    Ok(valid.sensitive.into_iter().filter(given).collect())
}

async fn check_deploy(
    api: &SharedApiContext,
    caller: &ApiCaller,
    command: DeployCommand,
) -> Result<JobSpec, ApiFailure> {
    puppet_runs::may_run(api, caller)?;
    let environment = command.environment.clone();
    if !environment.is_empty() {
        code_manager::environment("environment", &environment)?;
    }
    let spec = puppet_runs::request(api, caller, command)?;
    if !environment.is_empty() {
        code::read(api, &environment, |_| Ok(())).await?;
    }
    check_scope(api, &spec, &environment).await?;
    Ok(spec)
}

/// Checks that the nodes have passes with the live code; those of a version that the command names are planned at the start.
async fn check_passes(
    api: &SharedApiContext,
    caller: &ApiCaller,
    command: DeployCommand,
) -> Result<(), ApiFailure> {
    let is_of_version = command.code_id.is_some();
    let spec = check_deploy(api, caller, command).await?;
    let Some(environment) = spec.work.environment().filter(|_| !is_of_version) else {
        return Ok(());
    };
    let version = (environment, None);
    let planning = api.jobs.node_passes(&spec.scope, version, &spec.owner_id);
    match planning.await {
        // `check_scope` has decided on scopes without nodes.
        Ok(_) | Err(RunJobError::Scope(ScopeError::EmptyTarget)) => Ok(()),
        Err(error) => Err(run_job_error(error)),
    }
}

/// Checks that the nodes can be looked up. A query or a node group may have none now: that of nodes whose last run failed,
/// for example.
async fn check_scope(
    api: &SharedApiContext,
    spec: &JobSpec,
    environment: &str,
) -> Result<(), ApiFailure> {
    let jobs = &api.jobs;
    let found = jobs.resolve_targets(&spec.scope, environment, &spec.owner_id);
    match (found.await, &spec.scope) {
        (Err(ScopeError::EmptyTarget), NodeScope::Query(_) | NodeScope::NodeGroup(_)) => Ok(()),
        (found, _) => found.map(drop).map_err(scope_refusal),
    }
}
