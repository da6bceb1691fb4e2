//! Whether a task can be run with the parameters that somebody gave.

use serde_json::{Map, Value};

use super::param_type::Mismatch;
use super::{ParamType, TaskMetadata};

/// Parameters that fit, with defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidParams {
    /// What the task gets; without the orchestrator's own `_` parameters.
    pub params: Map<String, Value>,
    /// Names of those that must not be stored or shown.
    pub sensitive: Vec<String>,
}

/// One thing that is wrong with a set of parameters. Values are never quoted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParamProblem {
    /// The task has no such parameter.
    #[error("unknown parameter '{name}'; the task takes {}", takes(known))]
    Unknown {
        /// As given.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A name that begins with `_`.
    #[error("parameter '{0}' is reserved: names that begin with '_' are set by the orchestrator")]
    Reserved(String),
    /// A parameter without a default whose type needs a value.
    #[error("parameter '{name}' is missing; it expects a value of type {expected}")]
    Missing {
        /// The parameter.
        name: String,
        /// Its type.
        expected: ParamType,
    },
    /// A value of the wrong type.
    #[error("parameter '{path}' {mismatch}")]
    WrongType {
        /// The parameter, and the place within it, e.g. `hosts[2].port`.
        path: String,
        /// What is wrong.
        mismatch: Mismatch,
    },
}

/// Checks `params` against what the task's author wrote, and fills in defaults. All problems are
/// returned, in the order of the given parameters, then of the missing ones.
///
/// A task without a `parameters` section takes anything. An explicit `null` for a parameter whose
/// type takes no `Undef` is a wrong type even if there is a default.
pub fn validate_params(
    metadata: &TaskMetadata,
    params: &Map<String, Value>,
) -> Result<ValidParams, Vec<ParamProblem>> {
    let mut problems = Vec::new();
    for (name, value) in params {
        problems.extend(check(metadata, name, value).err());
    }
    let mut complete = params.clone();
    let mut sensitive = Vec::new();
    for (name, parameter) in metadata.parameters.iter().flatten() {
        if parameter.sensitive {
            sensitive.push(name.clone());
        }
        if params.contains_key(name) {
            continue;
        }
        if let Some(default) = &parameter.default {
            complete.insert(name.clone(), default.clone());
        } else if !parameter.param_type.accepts_undef() {
            let expected = parameter.param_type.clone();
            problems.push(ParamProblem::Missing {
                name: name.clone(),
                expected,
            });
        }
    }
    if problems.is_empty() {
        Ok(ValidParams {
            params: complete,
            sensitive,
        })
    } else {
        Err(problems)
    }
}

fn check(metadata: &TaskMetadata, name: &str, value: &Value) -> Result<(), ParamProblem> {
    if name.starts_with('_') {
        return Err(ParamProblem::Reserved(name.to_owned()));
    }
    let Some(parameters) = &metadata.parameters else {
        return Ok(());
    };
    let parameter = parameters.get(name).ok_or_else(|| ParamProblem::Unknown {
        name: name.to_owned(),
        known: parameters.keys().cloned().collect(),
    })?;
    parameter
        .param_type
        .validate(value)
        .map_err(|mismatch| ParamProblem::WrongType {
            path: format!("{name}{}", mismatch.path),
            mismatch,
        })
}

fn takes(known: &[String]) -> String {
    if known.is_empty() {
        "no parameters".to_owned()
    } else {
        known.join(", ")
    }
}
