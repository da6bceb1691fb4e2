//! Selection of the implementation of a task that a node runs.

use serde::{Deserialize, Serialize};

/// One implementation of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskImplementation {
    /// Name of the implementation's file, equal to a `filename` of the task's files.
    pub name: String,
    /// Features that a node must have to run this implementation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
    /// Supporting files in addition to the task's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Input method of this implementation; `None`: the task's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_method: Option<String>,
}

/// The error that no implementation suits the node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no implementations match supported features: {}", features.join(", "))]
pub struct NoImplementation {
    /// Features of the node.
    pub features: Vec<String>,
}

/// The first implementation whose requirements are all among `features`. `None` if the task lists
/// no implementations: its first file is then the only one.
pub fn choose_implementation<'a, S: AsRef<str>>(
    implementations: &'a [TaskImplementation],
    features: &[S],
) -> Result<Option<&'a TaskImplementation>, NoImplementation> {
    let has = |wanted: &String| features.iter().any(|feature| feature.as_ref() == wanted);
    let suits = |candidate: &&TaskImplementation| candidate.requirements.iter().all(has);
    match implementations.iter().find(suits) {
        Some(chosen) => Ok(Some(chosen)),
        None if implementations.is_empty() => Ok(None),
        None => Err(NoImplementation {
            features: features
                .iter()
                .map(|feature| feature.as_ref().to_owned())
                .collect(),
        }),
    }
}
