//! Plans with their metadata: [`EnvironmentPlanSource`].
//!
//! Invariant: reading a plan evaluates nothing. Types and defaults are shown as they are written.

mod name;
mod puppet;
mod tags;
mod yaml;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

pub use name::{PlanName, PlanNameError};
pub use yaml::{PlanProblem, YamlAction, YamlParameter, YamlPlan, YamlStep, embedded_code};

use crate::CodeError;

/// The language of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanLanguage {
    /// The Puppet language, in a file `.pp`.
    Puppet,
    /// YAML, in a file `.yaml`.
    Yaml,
}

/// A plan in a list of plans.
#[derive(Clone, Debug)]
pub struct PlanSummary {
    /// Name of the plan.
    pub name: PlanName,
    /// Description of the plan, as in [`PlanMetadata`].
    pub description: Option<String>,
    /// True if lists do not show the plan.
    pub private: bool,
    /// The error of reading the plan; `None` if it was read.
    pub problem: Option<CodeError>,
}

/// A plan and its source.
#[derive(Clone, Debug)]
pub struct EnvironmentPlanSource {
    /// Name of the plan.
    pub name: PlanName,
    /// Language of the plan's source.
    pub language: PlanLanguage,
    /// Path of the plan's file, for messages.
    pub path: PathBuf,
    /// Source text of the plan.
    pub source: Arc<str>,
    /// Description and parameters of the plan.
    pub metadata: PlanMetadata,
}

/// The metadata of a plan, from its comment or YAML keys and its parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanMetadata {
    /// Description: `@summary`, or else the text of the plan's comment; `description` of a YAML
    /// plan.
    pub description: Option<String>,
    /// True for `@api private`, or `private: true` of a YAML plan.
    pub private: bool,
    /// Parameters in the order of the plan.
    pub parameters: Vec<PlanParameter>,
}

/// A parameter of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanParameter {
    /// Name of the parameter, without `$`.
    pub name: String,
    /// Text of the type; `Any` if there is none.
    pub kind: String,
    /// Default: its text in a Puppet plan, its value in a YAML plan; `None`: the parameter is
    /// required.
    pub default: Option<Value>,
    /// Description: `@param`, or `description` in a YAML plan.
    pub description: Option<String>,
    /// True if its type is `Sensitive`, or a variant of it.
    pub sensitive: bool,
}

// === impl EnvironmentPlanSource ===

impl EnvironmentPlanSource {
    pub(crate) fn read_plan(
        name: PlanName,
        language: PlanLanguage,
        path: PathBuf,
        content: Vec<u8>,
    ) -> Result<Self, CodeError> {
        let source = String::from_utf8(content);
        let source: Arc<str> = match source {
            Ok(text) => text.into(),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let what = format!("it is not UTF-8 (at byte {at})");
                return Err(plan_error(&path, what, None));
            }
        };
        let metadata = match language {
            PlanLanguage::Puppet => puppet::parse_metadata(&name, &path, &source)?,
            PlanLanguage::Yaml => yaml::parse_metadata(&path, &source)?,
        };
        Ok(Self {
            name,
            language,
            path,
            source,
            metadata,
        })
    }
}

/// An error in a plan's file; `position` is a line and a column, counted from 1.
fn plan_error(path: &Path, problem: impl Into<String>, position: Option<(u32, u32)>) -> CodeError {
    let from_1 = |(line, column): (u32, u32)| (line as usize, column as usize);
    CodeError::Plan {
        path: path.to_owned(),
        problem: problem.into(),
        position: position.filter(|(line, _)| *line > 0).map(from_1),
    }
}
