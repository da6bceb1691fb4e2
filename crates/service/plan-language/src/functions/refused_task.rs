//! Tasks that cannot be run as a plan wants it: [`refusal`].
//!
//! Invariant: what the plan's author wrote wrongly ends the plan in Bolt's words and is not caught;
//! what depends on the server (an unknown task, a right that is missing) can be caught.

use evaluator::{Eval, EvalError, Host as _, SourceLocation, Unwind};
use pcore::{StructElement, Type, Value, describe_parameters};
use serde_json::{Map, Value as Json, json};

use crate::failure;
use crate::host::PlanHost;

const UNKNOWN_TASK: &str = "bolt/unknown-task";

/// The code of errors about parameters; `run_task_with` makes them the failure of one target.
pub(super) const TASK_MISTAKE: &str = "TASK_MISTAKE";

/// The error of a task that the job engine refused with this error.
pub(crate) fn refusal(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    task: &str,
    params: &Map<String, Json>,
    error: &Json,
) -> Box<Unwind> {
    match error["issue_code"].as_str() {
        Some(plans::WRONG_PARAMETERS) => {
            let words = words(host, task, params).unwrap_or_default();
            let engine = || {
                error["msg"]
                    .as_str()
                    .unwrap_or("wrong parameters")
                    .to_owned()
            };
            mistake(&words.unwrap_or_else(engine), place)
        }
        Some(plans::NOOP_UNSUPPORTED) => {
            let msg = error["msg"]
                .as_str()
                .unwrap_or("Task does not support noop");
            mistake(msg, place)
        }
        _ if error["kind"] == UNKNOWN_TASK => failure::plain(
            UNKNOWN_TASK,
            format!(
                "Could not find a task named '{task}' in the environment '{}'. For a list of available tasks, run \
                 'tutti task list'.",
                host.run.launch.environment
            ),
        ),
        _ => failure::raised(failure::of_json(error)),
    }
}

pub(super) fn mistake(msg: &str, place: &SourceLocation) -> Box<Unwind> {
    let mut error = failure::mistake(msg, place);
    error.code = TASK_MISTAKE;
    error.into()
}

/// The text of such an error, if it is one.
pub(super) fn mistake_of(unwind: &Unwind) -> Option<&EvalError> {
    match unwind {
        Unwind::Error(error) if error.code == TASK_MISTAKE => Some(error),
        _ => None,
    }
}

/// Puppet's words for parameters that do not fit. `None`: a type is none that is known here, or the words would
/// show a secret.
fn words(host: &PlanHost<'_>, task: &str, params: &Map<String, Json>) -> Eval<Option<String>> {
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
    let told = told.map_err(|error| failure::plain("bolt/unknown-task", error))?;
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
