//! Validates a scheduled job when it is created: permissions, parameters, and which of them are
//! sensitive.
//!
//! Invariant: a request that would be refused now is refused with the same error; conditions that
//! can change until the start (members of a node group, a task's metadata) are checked again then.

use api_types::schedules::ScheduledInput;
use api_types::{ApiError, DeployCommand, TaskCommand};
use environments::validate_params;
use jobs::RunTaskError;
use pxp::task::TaskName;
use serde_json::{Value, json};

use crate::SharedApiContext;
use crate::code;
use crate::failure::ApiFailure;
use crate::guard::ApiCaller;
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
    let name: TaskName = command
        .task
        .parse()
        .map_err(|error| ApiError::invalid("input.name", error))?;
    let (request, _) = Box::pin(task::prepare_task(api, caller, command)).await?;
    let (_, task) = code::read(api, &request.environment, move |code| code.task(&name)).await?;
    let metadata = task.metadata;
    let valid = validate_params(&metadata, &request.params).map_err(|problems| {
        let listed: Vec<Value> = problems.iter().map(|p| json!(p.to_string())).collect();
        let error = RunTaskError::Parameters {
            task: request.task.clone(),
            problems,
        };
        ApiError::invalid("input.parameters", error).with("params", json!(listed))
    })?;
    if request.noop && !metadata.supports_noop {
        let error = RunTaskError::NoopUnsupported(request.task.clone());
        return Err(ApiError::invalid("input.noop", error).into());
    }
    if request.nodes.is_none() {
        let found = api
            .jobs
            .resolve_targets(&request.scope, &request.environment)
            .await;
        found.map_err(|error| scope_refusal(&error))?;
    }
    // Only given parameters; a default in the metadata is not a secret.
    let given = |name: &String| request.params.contains_key(name);
    Ok(valid.sensitive.into_iter().filter(given).collect())
}

async fn check_deploy(
    api: &SharedApiContext,
    caller: &ApiCaller,
    command: DeployCommand,
) -> Result<(), ApiFailure> {
    puppet_runs::may_run(api, caller)?;
    let request = puppet_runs::request(api, caller, command)?;
    if !request.environment.is_empty() {
        check_environment(api, &request.environment).await?;
    }
    if let Some(scope) = &request.scope {
        let found = api.jobs.resolve_targets(scope, &request.environment).await;
        found.map_err(|error| scope_refusal(&error))?;
    }
    Ok(())
}

async fn check_environment(api: &SharedApiContext, name: &str) -> Result<(), ApiFailure> {
    code::read(api, name, |_| Ok(())).await?;
    Ok(())
}
