//! Input of scheduled jobs: `input`, whose keys depend on the type.
//!
//! Invariant: it is converted into the same command that runs the task, plan or Puppet at once, so
//! both accept the same values, and errors name the path below `input`.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{ScheduledType, puppet_input};
use crate::rollout::{BatchSizes, Portion};
use crate::scope::Scope;
use crate::{
    ApiError, ConvergeCommand, DeployCommand, EnvironmentPlanRunCommand, MultiPassCommand, Object,
    TaskCommand, kinds, strict,
};

/// `input` of a scheduled task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskInput {
    /// Name of the task: `module` or `module::task`.
    pub name: String,
    /// Parameters of the task, by name, each as `{"value": …}`.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub parameters: Object,
    /// Nodes that the task runs on.
    #[serde(deserialize_with = "strict::deserialize_object")]
    pub scope: Scope,
    /// Must be empty: connection data is not stored in scheduled jobs.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Vec<Object>)]
    pub targets: Vec<Value>,
    /// Only show the changes, without making them (noop).
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub noop: bool,
    /// Number of nodes that may run at the same time; absent: the server's limit.
    #[serde(default)]
    pub concurrency: Option<u32>,
    /// Sizes of the batches: a number of nodes, a percentage such as `"10%"`, or a list of such
    /// sizes. Absent: all nodes form one batch.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub batch: Option<BatchSizes>,
    /// Pause between the end of a batch and the start of the next one, in seconds; absent: none.
    #[serde(default)]
    pub pause_between_batches: Option<u64>,
    /// Number of nodes that may fail, or their percentage (`"10%"`). Absent: any number may fail.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub max_failures: Option<Portion>,
    /// Time over which the starts of the nodes are spread evenly, in seconds. Absent: all nodes start as soon as they can.
    #[serde(default)]
    pub splay: Option<u64>,
    /// Timeout for each node, in seconds; 0: 30 days, the longest; absent: the server's default.
    #[serde(default)]
    pub timeout: Option<u64>,
    /// Transport to the nodes; only `pxp`.
    #[serde(default)]
    pub transport: Option<String>,
}

/// `input` of a scheduled plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanInput {
    /// Name of the plan: `module` or `module::plan`.
    pub name: String,
    /// Parameters of the plan, by name, each as `{"value": …}`, with `type` for a set of nodes.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub parameters: Object,
}

/// Value of a parameter, with its type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TypedValue {
    /// The value of the parameter.
    #[schema(value_type = Object)]
    pub value: Value,
    /// Type of a plan's parameter: `query` or `node_group`; absent: a plain value.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// `input` of a scheduled job, converted into the command to run.
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduledInput {
    /// Run a task on nodes.
    Task(Box<TaskCommand>),
    /// Run Puppet on nodes.
    Deploy(Box<DeployCommand>),
    /// Run Puppet on nodes, in waves until they have converged.
    Converge(Box<ConvergeCommand>),
    /// Run Puppet on nodes that wait for each other, in passes.
    MultiPass(Box<MultiPassCommand>),
    /// Run a plan of an environment.
    Plan(Box<EnvironmentPlanRunCommand>),
}

impl ScheduledInput {
    /// Reads an `input`.
    ///
    /// # Errors
    /// A validation error that names the place.
    pub fn read(
        kind: ScheduledType,
        input: Object,
        environment: &str,
        description: &str,
        userdata: &Object,
    ) -> Result<Self, ApiError> {
        if environment.is_empty() && kind != ScheduledType::Deploy {
            let what = "may be empty for the type deploy only";
            return Err(ApiError::invalid("environment", what));
        }
        match kind {
            ScheduledType::Task => {
                let input: TaskInput = from_object("input", input)?;
                task(input, environment, description, userdata).map(Self::Task)
            }
            ScheduledType::Deploy => puppet_input::read(input, environment, description, userdata),
            ScheduledType::Plan => {
                let input: PlanInput = from_object("input", input)?;
                plan(input, environment, description, userdata).map(Self::Plan)
            }
        }
    }
}

fn task(
    input: TaskInput,
    environment: &str,
    description: &str,
    userdata: &Object,
) -> Result<Box<TaskCommand>, ApiError> {
    if !input.targets.is_empty() {
        let what = "connection data is not kept in schedules; make connections by \
                    POST /inventory/v1/command/create-connection, and name the nodes in scope";
        return Err(ApiError::invalid("input.targets", what));
    }
    let pxp = |transport: &String| transport == "pxp" || transport == "pcp";
    if !input.transport.as_ref().is_none_or(pxp) {
        return Err(ApiError::invalid("input.transport", "must be pxp"));
    }
    let params = check_parameters(&input.parameters, &[])?;
    let command = json!({
        "environment": environment,
        "task": input.name,
        "params": params,
        "scope": input.scope,
        "noop": input.noop,
        "concurrency": input.concurrency,
        "batch": input.batch,
        "pause_between_batches": input.pause_between_batches,
        "max_failures": input.max_failures,
        "splay": input.splay,
        "timeout": input.timeout,
        "description": description,
        "userdata": userdata,
    });
    let command: TaskCommand = read("input", command)?;
    command.check()?;
    Ok(Box::new(command))
}

/// Converts the input of a plan. No user is there when a schedule starts a plan, so its questions
/// take their defaults.
fn plan(
    input: PlanInput,
    environment: &str,
    description: &str,
    userdata: &Object,
) -> Result<Box<EnvironmentPlanRunCommand>, ApiError> {
    check_parameters(&input.parameters, &["query", "node_group"])?;
    let command = json!({
        "environment": environment,
        "plan_name": input.name,
        "params": input.parameters,
        "unattended": true,
        "description": description,
        "userdata": userdata,
    });
    let command: EnvironmentPlanRunCommand = read("input", command)?;
    command.check()?;
    Ok(Box::new(command))
}

/// Returns the values of `{p: {value, type?}}`.
fn check_parameters(parameters: &Object, types: &[&str]) -> Result<Object, ApiError> {
    let mut values = Object::new();
    for (name, value) in parameters {
        let place = format!("input.parameters.{name}");
        let Value::Object(value) = value.clone() else {
            return Err(ApiError::invalid(
                &place,
                "must be an object {\"value\": …}",
            ));
        };
        let typed: TypedValue = from_object(&place, value)?;
        if let Some(kind) = &typed.kind
            && !types.contains(&kind.as_str())
        {
            let what = match types {
                [] => "a task's parameter has no type".to_owned(),
                types => format!("must be one of {}", types.join(", ")),
            };
            return Err(ApiError::invalid(&format!("{place}.type"), what));
        }
        values.insert(name.clone(), typed.value);
    }
    Ok(values)
}

/// Reads an object whose path in the body is `place`.
pub(super) fn from_object<T: DeserializeOwned>(place: &str, object: Object) -> Result<T, ApiError> {
    read(place, Value::Object(object))
}

fn read<T: DeserializeOwned>(place: &str, value: Value) -> Result<T, ApiError> {
    decode_errors::json::from_value(value).map_err(|error| {
        let under = |path: &str| match path {
            "" => place.to_owned(),
            below => format!("{place}.{below}"),
        };
        let msg = format!("{}: {}", under(&error.subject()), error.problem());
        ApiError::new(kinds::VALIDATION, msg).with("path", json!(under(error.path())))
    })
}
