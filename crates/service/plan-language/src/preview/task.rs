//! The check of a task before its preview shows it. Main function: [`check`].
//!
//! Invariant: a request that the job engine would refuse is refused here with the same error, and
//! parameters that the task's metadata marks as sensitive are never shown.

use std::collections::BTreeSet;

use environments::{ParamProblem, TaskMetadata, validate_params};
use evaluator::{EvalResult, SourceLocation};
use jobs::RunJobError;
use serde_json::{Map, Value as Json, json};

use crate::failure;
use crate::functions::{PlanAction, refused_task_error};
use crate::host::PlanHost;

/// The parts of a task's metadata that a preview uses.
pub(super) struct CheckedTask {
    pub(super) supports_noop: bool,
    sensitive: Vec<String>,
}

impl CheckedTask {
    /// Redacts the parameters that the task marks as sensitive.
    pub(super) fn redact_parameters(&self, mut parameters: Json) -> Json {
        for name in &self.sensitive {
            if let Some(value) = parameters.get_mut(name) {
                *value = json!(pcore::REDACTED);
            }
        }
        parameters
    }
}

/// Checks a task against its metadata, as a step. `unknown` names the parameters whose values are
/// unknown; `None` if the set of parameters itself is unknown.
pub(super) fn check(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    action: &PlanAction<'_>,
    noop: bool,
    unknown: Option<BTreeSet<String>>,
) -> EvalResult<CheckedTask> {
    let params = action.params.clone();
    let told = host.code.task(action.object, move |name, metadata| {
        let problems = match unknown {
            Some(unknown) => problems(metadata, &params, &unknown),
            None => Vec::new(),
        };
        let refused = match (problems.is_empty(), noop && !metadata.supports_noop) {
            (false, _) => Some(RunJobError::Parameters {
                task: name.clone(),
                problems,
            }),
            (_, true) => Some(RunJobError::NoopUnsupported(name.clone())),
            _ => None,
        };
        if let Some(error) = refused {
            return json!({"error": plans::task_refusal_error(&error)});
        }
        let parameters = metadata.parameters.iter().flatten();
        let sensitive = parameters.filter(|(_, about)| about.sensitive);
        let sensitive: Vec<&String> = sensitive.map(|(name, _)| name).collect();
        json!({"supports_noop": metadata.supports_noop, "sensitive": sensitive})
    });
    let told = told.map_err(|fault| failure::plain_error("bolt/unknown-task", fault))?;
    if let Some(error) = told.get("error") {
        return Err(refused_task_error(
            host,
            place,
            action.task,
            &action.params,
            error,
        ));
    }
    let names = told["sensitive"].as_array().into_iter().flatten();
    Ok(CheckedTask {
        supports_noop: told["supports_noop"] == json!(true),
        sensitive: names.filter_map(Json::as_str).map(str::to_owned).collect(),
    })
}

/// Returns the problems that exist for every value of the unknown parameters.
fn problems(
    metadata: &TaskMetadata,
    params: &Map<String, Json>,
    unknown: &BTreeSet<String>,
) -> Vec<ParamProblem> {
    let is_certain = |problem: &ParamProblem| match problem {
        ParamProblem::WrongType { name, .. } => !unknown.contains(name),
        _ => true,
    };
    let mut problems = validate_params(metadata, params).err().unwrap_or_default();
    problems.retain(is_certain);
    problems
}
