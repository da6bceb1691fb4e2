//! Node groups: [`NodeGroup`] and the requests that create, change and pin them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::parameters::Parameters;
use crate::{ApiError, Object, Page, PreciseTimestamp};

/// A node group, as the classifier returns it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeGroup {
    /// Name of the group; unique within the environment.
    pub name: String,
    /// UUID of the group.
    pub id: String,
    /// Free text; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Environment of the group's nodes; `agent-specified`: the one that the agent requests.
    pub environment: String,
    /// True if the environment overrides those of other groups.
    pub environment_trumps: bool,
    /// Id of the parent group; the root group is its own parent.
    pub parent: String,
    /// Rule that selects the nodes; null: the group has no nodes.
    #[schema(value_type = Option<Vec<Object>>)]
    pub rule: Option<Value>,
    /// Classes with the parameters that the group sets.
    #[schema(value_type = Object)]
    pub classes: Value,
    /// Values for parameters of classes that other groups or the code declare.
    #[schema(value_type = Object)]
    pub config_data: Value,
    /// Top-scope variables, by name.
    #[schema(value_type = Object)]
    pub variables: Value,
    /// Time of the last edit.
    pub last_edited: PreciseTimestamp,
    /// Number that each edit increases, by which concurrent edits are detected.
    pub serial_number: i64,
}

/// A node group with its descendants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GroupTree {
    /// Node group at the top of this tree.
    #[serde(flatten)]
    pub group: NodeGroup,
    /// Child groups, down to the requested depth.
    #[schema(no_recursion)]
    pub children: Vec<GroupTree>,
    /// Number of child groups, including those that are not shown.
    pub immediate_child_count: u64,
}

/// A complete node group, to be created or replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeGroupInput {
    /// Name of the group; unique within the environment.
    pub name: String,
    /// Id of the parent group.
    pub parent: String,
    /// Classes with the parameters that the group sets; may be empty.
    #[schema(value_type = Object)]
    pub classes: Object,
    /// UUID in lower-case letters; absent: a new one is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Free text; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Environment of the group's nodes; absent: `production`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// True if the environment overrides those of other groups; absent: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_trumps: Option<bool>,
    /// Rule that selects the nodes; absent or null: the group has no nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    pub rule: Option<Value>,
    /// Values for parameters of classes that other groups or the code declare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub config_data: Option<Object>,
    /// Top-scope variables, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub variables: Option<Object>,
    /// Serial number that the group must still have; if it differs, the request is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<i64>,
}

/// Changes to a node group: absent keys stay as they are, and null removes a class, a parameter, a
/// variable, the rule or the description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(value_type = Object)]
pub struct NodeGroupDelta(pub Object);

/// Nodes to pin to a group or unpin from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PinNodes {
    /// Certnames of the nodes.
    pub nodes: Vec<String>,
}

/// Rule of a group in several forms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeGroupRules {
    /// The group's own rule; null if it has none.
    #[schema(value_type = Option<Vec<Object>>)]
    pub rule: Option<Value>,
    /// The rule combined with those of all ancestors; null if the group has no rule of its own.
    #[schema(value_type = Option<Vec<Object>>)]
    pub rule_with_inherited: Option<Value>,
    /// The rule as queries of `PuppetDB`.
    pub translated: TranslatedRules,
}

/// A rule as queries of `PuppetDB`; null where it cannot be expressed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TranslatedRules {
    /// Query for the endpoint `nodes`, which has neither structured nor trusted facts.
    #[schema(value_type = Option<Vec<Object>>)]
    pub nodes_query_format: Option<Value>,
    /// Query for the endpoint `inventory`.
    #[schema(value_type = Option<Vec<Object>>)]
    pub inventory_query_format: Option<Value>,
}

/// Reply to the command `unpin-from-all`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnpinnedNodes {
    /// One item for each node of the request.
    pub nodes: Vec<UnpinnedNode>,
}

/// A node that was unpinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnpinnedNode {
    /// Certname of the node.
    pub name: String,
    /// Groups from which the node was unpinned.
    pub groups: Vec<UnpinnedGroup>,
}

/// A group that a node was unpinned from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnpinnedGroup {
    /// UUID of the group.
    pub id: String,
    /// Name of the group.
    pub name: String,
    /// Environment of the group.
    pub environment: String,
}

/// The query parameters of `GET groups`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupsQuery {
    /// True if groups are shown with the values that they inherit.
    pub inherited: bool,
    /// Part of the list to return.
    pub page: Page,
}

impl GroupsQuery {
    /// Reads the query parameters. Any value of `inherited` except `0` and `false` means yes, as in
    /// Puppet Enterprise.
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
