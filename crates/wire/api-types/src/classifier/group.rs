//! Node groups.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::parameters::Parameters;
use crate::{ApiError, Object, Page, PreciseTimestamp};

/// A group as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeGroup {
    /// Unique within the environment.
    pub name: String,
    /// A UUID.
    pub id: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What its nodes run under; `agent-specified`: what the agent asks for.
    pub environment: String,
    /// Whether the environment beats those of other groups.
    pub environment_trumps: bool,
    /// The id of the parent; the root is its own.
    pub parent: String,
    /// Which nodes; null: none.
    #[schema(value_type = Option<Vec<Object>>)]
    pub rule: Option<Value>,
    /// Classes with the parameters that the group sets.
    #[schema(value_type = Object)]
    pub classes: Value,
    /// Parameters for classes that come from elsewhere.
    #[schema(value_type = Object)]
    pub config_data: Value,
    /// Top-scope variables.
    #[schema(value_type = Object)]
    pub variables: Value,
    /// When it was last edited.
    pub last_edited: PreciseTimestamp,
    /// Counts the edits.
    pub serial_number: i64,
}

/// A group and those below it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GroupTree {
    /// The group.
    #[serde(flatten)]
    pub group: NodeGroup,
    /// The groups below it, as deep as asked.
    #[schema(no_recursion)]
    pub children: Vec<GroupTree>,
    /// How many children it has, shown or not.
    pub immediate_child_count: u64,
}

/// A whole group, to be created or put.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeGroupInput {
    /// Unique within the environment.
    pub name: String,
    /// The id of the parent.
    pub parent: String,
    /// Classes with the parameters that the group sets; may be empty.
    #[schema(value_type = Object)]
    pub classes: Object,
    /// A UUID in small letters; absent: a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Absent: `production`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Absent: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_trumps: Option<bool>,
    /// Which nodes; absent or null: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    pub rule: Option<Value>,
    /// Parameters for classes that come from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub config_data: Option<Object>,
    /// Top-scope variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub variables: Option<Object>,
    /// Refused unless it is the group's present one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<i64>,
}

/// A change of a group: what is absent stays, and null takes away a class, a parameter, a variable,
/// the rule or the description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(value_type = Object)]
pub struct NodeGroupDelta(pub Object);

/// Nodes to be pinned or unpinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PinNodes {
    /// Certnames.
    pub nodes: Vec<String>,
}

/// A group's rule in several forms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeGroupRules {
    /// Its own; null: none.
    #[schema(value_type = Option<Vec<Object>>)]
    pub rule: Option<Value>,
    /// With those of its ancestors; null without one of its own.
    #[schema(value_type = Option<Vec<Object>>)]
    pub rule_with_inherited: Option<Value>,
    /// As queries of `PuppetDB`.
    pub translated: TranslatedRules,
}

/// A rule as queries of `PuppetDB`; null where it cannot be expressed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TranslatedRules {
    /// For the endpoint `nodes`, which knows neither structured nor trusted facts.
    #[schema(value_type = Option<Vec<Object>>)]
    pub nodes_query_format: Option<Value>,
    /// For the endpoint `inventory`.
    #[schema(value_type = Option<Vec<Object>>)]
    pub inventory_query_format: Option<Value>,
}

/// What `unpin-from-all` did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnpinnedNodes {
    /// Each node that was asked for.
    pub nodes: Vec<UnpinnedNode>,
}

/// A node that was unpinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnpinnedNode {
    /// The certname.
    pub name: String,
    /// From where.
    pub groups: Vec<UnpinnedGroup>,
}

/// A group that a node was unpinned from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnpinnedGroup {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its environment.
    pub environment: String,
}

/// The query parameters of `GET groups`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupsQuery {
    /// Whether groups are shown with what they inherit.
    pub inherited: bool,
    /// Which part of the list.
    pub page: Page,
}

impl GroupsQuery {
    /// Any value but `0` and `false` is a yes, as in Puppet Enterprise.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let inherited = given.text("inherited");
        let page = Page::take(&mut given)?;
        given.finish()?;
        Ok(Self {
            inherited: inherited.is_some_and(|text| text != "0" && text != "false"),
            page,
        })
    }
}
