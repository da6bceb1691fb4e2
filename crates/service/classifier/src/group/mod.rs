//! Node groups as they are stored. Main types: [`ClassifierGroup`], [`GroupId`].

mod default_groups;
mod id;
mod input;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::NodeGroupRule;

pub(crate) use default_groups::{are_default_groups, default_groups};
pub use id::{GroupId, InvalidGroupId};
pub use input::{ClassesDelta, GroupDelta, GroupInput, ParametersDelta, SchemaError, parse_import};

/// The environment value of a group that leaves the choice to the agent.
pub const AGENT_SPECIFIED: &str = "agent-specified";

/// The default environment of a group that names none.
pub const DEFAULT_ENVIRONMENT: &str = "production";

/// Parameters or variables, by name, with their values.
pub type GroupParameters = BTreeMap<String, Value>;

/// Parameters by class name.
pub type GroupClasses = BTreeMap<String, GroupParameters>;

/// A node group: a rule, and the classification of the nodes that match it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassifierGroup {
    /// Id of the group, which never changes.
    pub id: GroupId,
    /// Name of the group, unique within the environment.
    pub name: String,
    /// Free text shown to users; `None` if there is none.
    pub description: Option<String>,
    /// Environment of the nodes of this group, or [`AGENT_SPECIFIED`].
    pub environment: String,
    /// If `true`, the environment overrides those of other groups.
    pub environment_trumps: bool,
    /// Id of the parent group; the root is its own parent.
    pub parent: GroupId,
    /// Rule that selects nodes; with `None` the group has no nodes.
    pub rule: Option<NodeGroupRule>,
    /// Classes, with parameters, that nodes of this group receive.
    pub classes: GroupClasses,
    /// Parameters for classes that are declared outside of the group.
    pub config_data: GroupClasses,
    /// Top-scope variables that nodes of this group receive.
    pub variables: GroupParameters,
    /// Time of the last edit, in milliseconds since 1970.
    pub last_edited_ms: i64,
    /// Number that each edit increases.
    pub serial_number: i64,
}
