//! Plans as their readers see them: [`Plan`], which is a file and what it says of itself.
//!
//! The rule: reading a plan evaluates nothing. Types and defaults are shown as they are written.

mod name;
mod puppet;
mod tags;
mod yaml;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

pub use name::{PlanName, PlanNameError};
pub use yaml::{PlanProblem, YamlAction, YamlParameter, YamlPlan, YamlStep, code_of};

use crate::CodeError;

/// In which language a plan is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanLanguage {
    /// `.pp`
    Puppet,
    /// `.yaml`
    Yaml,
}

/// A plan in a list.
#[derive(Clone, Debug)]
pub struct PlanSummary {
    /// Its name.
    pub name: PlanName,
    /// As in [`PlanMetadata`].
    pub description: Option<String>,
    /// Not for lists that people see.
    pub private: bool,
    /// Why it cannot be read.
    pub problem: Option<CodeError>,
}

/// A plan and its source.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its name.
    pub name: PlanName,
    /// Of its source.
    pub language: PlanLanguage,
    /// Where it was read, for messages.
    pub path: PathBuf,
    /// As it was read.
    pub source: Arc<str>,
    /// What it says of itself.
    pub metadata: PlanMetadata,
}

/// What a plan says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanMetadata {
    /// `@summary`, or else the text of its comment; `description` of a YAML plan.
    pub description: Option<String>,
    /// `@api private`; `private: true` of a YAML plan.
    pub private: bool,
    /// In the order of the plan.
    pub parameters: Vec<PlanParameter>,
}

/// A parameter of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanParameter {
    /// Without `$`.
    pub name: String,
    /// The text of its type; `Any` where there is none.
    pub kind: String,
    /// The text of the default in a Puppet plan, the value in a YAML plan; `None`: it must be given.
    pub default: Option<Value>,
    /// `@param`; `description` in a YAML plan.
    pub description: Option<String>,
    /// Its type is `Sensitive`, or a kind of it.
    pub sensitive: bool,
}

// === impl Plan ===

impl Plan {
    pub(crate) fn read(
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
                return Err(problem(&path, what, None));
            }
        };
        let metadata = match language {
            PlanLanguage::Puppet => puppet::metadata(&name, &path, &source)?,
            PlanLanguage::Yaml => yaml::metadata(&path, &source)?,
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

/// `position` is a line and a column, from 1.
fn problem(path: &Path, problem: impl Into<String>, position: Option<(u32, u32)>) -> CodeError {
    let from_1 = |(line, column): (u32, u32)| (line as usize, column as usize);
    CodeError::Plan {
        path: path.to_owned(),
        problem: problem.into(),
        position: position.filter(|(line, _)| *line > 0).map(from_1),
    }
}
