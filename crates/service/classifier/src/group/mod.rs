//! Node groups as they stand. Main types: [`Group`], [`GroupId`].

mod id;
mod input;
mod shipped;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Rule;

pub use id::{GroupId, InvalidGroupId};
pub use input::{ClassesDelta, GroupDelta, GroupInput, ParametersDelta, SchemaError, imported};
pub(crate) use shipped::{are_as_shipped, shipped};

/// The environment of a group that leaves the choice to the agent.
pub const AGENT_SPECIFIED: &str = "agent-specified";

/// The environment of a group that names none.
pub const DEFAULT_ENVIRONMENT: &str = "production";

/// Parameters with their values.
pub type Parameters = BTreeMap<String, Value>;

/// Classes with their parameters.
pub type Classes = BTreeMap<String, Parameters>;

/// A group.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Never changes.
    pub id: GroupId,
    /// Unique within the environment.
    pub name: String,
    /// For people.
    pub description: Option<String>,
    /// What nodes of this group run under, or [`AGENT_SPECIFIED`].
    pub environment: String,
    /// Whether the environment beats those of other groups.
    pub environment_trumps: bool,
    /// The root is its own.
    pub parent: GroupId,
    /// `None`: no nodes.
    pub rule: Option<Rule>,
    /// What nodes of this group get.
    pub classes: Classes,
    /// Parameters for classes that come from elsewhere.
    pub config_data: Classes,
    /// Top-scope variables.
    pub variables: Parameters,
    /// Milliseconds since 1970.
    pub last_edited_ms: i64,
    /// Counts the edits.
    pub serial_number: i64,
}
