//! The parameters of a task run, checked against the task's metadata: [`validate_params`].

use serde_json::{Map, Value};

use super::TaskMetadata;

/// Valid parameters, with defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidParams {
    /// The input of the task, without the orchestrator's own parameters, which begin with `_`.
    pub params: Map<String, Value>,
    /// Names of the parameters that are neither stored nor shown in clear.
    pub sensitive: Vec<String>,
}

/// A problem with the parameters of a task run. Values are never quoted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParamProblem {
    /// The task has no such parameter.
    #[error(
        "unknown parameter '{name}'; the task takes {}",
        describe_parameters(known)
    )]
    Unknown {
        /// The name as the caller gave it.
        name: String,
        /// The parameters that the task has.
        known: Vec<String>,
    },
    /// A parameter whose name begins with `_`.
    #[error("parameter '{0}' is reserved: names that begin with '_' are set by the orchestrator")]
    Reserved(String),
    /// A parameter without a default whose type needs a value.
    #[error("parameter '{name}' is missing; it expects a value of type {expected}")]
    Missing {
        /// The name of the parameter.
        name: String,
        /// The text of its type.
        expected: String,
    },
    /// A value of the wrong type.
    #[error("{message}")]
    WrongType {
        /// The name of the parameter.
        name: String,
        /// Puppet's message, which begins with the name.
        message: String,
    },
}

/// Checks `params` against the task's metadata and fills in defaults. All problems are returned:
/// first those of given parameters, in their order, then the missing ones.
///
/// A task without a `parameters` section accepts any parameter. An explicit `null` for a parameter
/// whose type does not accept `Undef` is a wrong type even if there is a default.
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
        } else if !parameter.parameter_type.accepts_undef() {
            let expected = parameter.parameter_type.as_str().to_owned();
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
        .parameter_type
        .check(name, value)
        .map_err(|message| ParamProblem::WrongType {
            name: name.to_owned(),
            message,
        })
}

fn describe_parameters(known: &[String]) -> String {
    if known.is_empty() {
        "no parameters".to_owned()
    } else {
        known.join(", ")
    }
}
