//! Errors of tasks that cannot be run as the plan requests. Main function: [`refused_task_error`].
//!
//! Invariant: a mistake of the plan's author ends the plan with Bolt's message and cannot be
//! caught; an error that depends on the server (an unknown task, a missing permission) can be
//! caught.

use evaluator::{EvalError, EvalResult, EvalUnwind, EvaluationHost as _, SourceLocation};
use pcore::{StructElement, Type, Value, describe_parameters};
use serde_json::{Map, Value as Json, json};

use crate::error_object::error_from_json;
use crate::failure;
use crate::host::PlanHost;

const UNKNOWN_TASK: &str = "bolt/unknown-task";

/// The code of errors about parameters; `run_task_with` turns them into the failure of one target.
pub(super) const TASK_MISTAKE: &str = "TASK_MISTAKE";

/// Converts the error with which the job engine refused a task.
pub(crate) fn refused_task_error(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    task: &str,
    params: &Map<String, Json>,
    error: &Json,
) -> Box<EvalUnwind> {
    match error["issue_code"].as_str() {
        Some(plans::WRONG_PARAMETERS) => {
            let words = parameters_message(host, task, params).unwrap_or_default();
            let engine = || {
                error["msg"]
                    .as_str()
                    .unwrap_or("wrong parameters")
                    .to_owned()
            };
            refused_task_mistake(&words.unwrap_or_else(engine), place)
        }
        Some(plans::NOOP_UNSUPPORTED) => {
            let msg = error["msg"]
                .as_str()
                .unwrap_or("Task does not support noop");
            refused_task_mistake(msg, place)
        }
        _ if error["kind"] == UNKNOWN_TASK => failure::plain_error(
            UNKNOWN_TASK,
            format!(
                "Could not find a task named '{task}' in the environment '{}'. For a list of available tasks, run \
                 'tutti task list'.",
                host.run.launch.environment
            ),
        ),
        _ => failure::raise(error_from_json(error)),
    }
}

pub(super) fn refused_task_mistake(msg: &str, place: &SourceLocation) -> Box<EvalUnwind> {
    let mut error = failure::plan_mistake(msg, place);
    error.code = TASK_MISTAKE;
    error.into()
}

/// Returns the error if it is a mistake in a task's parameters.
pub(super) fn as_mistake(unwind: &EvalUnwind) -> Option<&EvalError> {
    match unwind {
        EvalUnwind::Error(error) if error.code == TASK_MISTAKE => Some(error),
        _ => None,
    }
}

/// Puppet's message for parameters that do not fit their types. `None` if a type is unknown here,
/// or if the message would show a secret.
fn parameters_message(
    host: &PlanHost<'_>,
    task: &str,
    params: &Map<String, Json>,
) -> EvalResult<Option<String>> {
    let told = host.code.task(task, |_, metadata| {
        let parameters = metadata.parameters.iter().flatten();
        let parameters = parameters.map(|(name, about)| {
            json!({
                "name": name,
                "type": about.parameter_type.as_str(),
                "has_default": about.default.is_some(),
                "is_secret": about.sensitive,
            })
        });
        Json::Array(parameters.collect())
    });
    let told = told.map_err(|error| failure::plain_error("bolt/unknown-task", error))?;
    let mut elements = Vec::new();
    for parameter in told.as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default();
        let text = parameter["type"].as_str().unwrap_or("Any");
        let Ok(ty) = Type::parse_with(text, &|name| host.named_type(name)) else {
            return Ok(None);
        };
        let given = params.get(name).map(Value::from_json);
        let is_wrong = given.is_some_and(|value| !ty.is_instance(&value));
        if is_wrong && parameter["is_secret"] == json!(true) {
            return Ok(None);
        }
        let has_default = parameter["has_default"] == json!(true);
        let is_optional = has_default || ty.is_instance(&Value::Undef);
        elements.push(StructElement::new(name, is_optional, ty));
    }
    let given = params
        .iter()
        .map(|(name, value)| (name.as_str(), Value::from_json(value)))
        .collect();
    let subject = format!("Task {task}");
    let checked = describe_parameters(&subject, &elements, &given, false, |_| false);
    Ok(checked.err().map(|mismatch| {
        let text = mismatch.to_string();
        let problems = text.trim_start_matches(&*subject).trim_start_matches(':');
        let problems = problems.trim_start_matches('\n').replace("\n  ", "\n ");
        format!("{subject}:\n {}", problems.trim_start())
    }))
}
