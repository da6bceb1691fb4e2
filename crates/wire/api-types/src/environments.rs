//! `GET environments` and the resources below it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::root::Link;
use crate::scope::Scope;
use crate::strict;

/// The environments that have code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnvironmentList {
    /// Environments, sorted by name.
    pub items: Vec<Environment>,
}

/// An environment with links to its resources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Environment {
    /// The environment's absolute URL.
    pub id: String,
    /// Name of the environment.
    pub name: String,
    /// Link to the applications of the environment.
    pub applications: Link,
    /// Link to the application instances of the environment.
    pub instances: Link,
    /// Code version (code id); null if the environment is not versioned.
    #[serde(default)]
    #[schema(example = "urn:puppet:code-id:1:0123abcd;production")]
    pub code_id: Option<String>,
}

/// The applications that the manifests of an environment define.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApplicationList {
    /// Applications, sorted by name.
    pub items: Vec<ApplicationItem>,
    /// Link to the application instances.
    pub instances: Link,
}

/// An application that a manifest defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApplicationItem {
    /// Name of the application.
    #[schema(example = "lamp")]
    pub name: String,
    /// The kind of the definition: `application`, as in Puppet's lists of resource types.
    pub kind: String,
    /// Path of the manifest.
    pub file: String,
    /// Line of the definition, counted from 1.
    pub line: u32,
    /// Parameters by name, with the Puppet code of their defaults; null for one that must be given. The code of a
    /// default that could be a secret is replaced.
    #[schema(value_type = Object)]
    pub parameters: Map<String, Value>,
}

/// The instances of applications in an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InstanceList {
    /// Instances, those first whose components others wait for.
    pub items: Vec<InstanceItem>,
    /// Nodes of the components that are not connected.
    #[serde(default)]
    pub absent_nodes: AbsentNodes,
}

/// An application that the site of an environment declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InstanceItem {
    /// Type of the application.
    #[serde(rename = "type")]
    #[schema(example = "Lamp")]
    pub application: String,
    /// Title of the instance.
    #[schema(example = "app1")]
    pub title: String,
    /// Components of the instance, producers before their consumers.
    pub components: Vec<InstanceComponent>,
}

/// A component of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InstanceComponent {
    /// Type of the component.
    #[serde(rename = "type")]
    #[schema(example = "Lamp::Webapp")]
    pub component: String,
    /// Title of the component.
    #[schema(example = "app1-1")]
    pub title: String,
    /// Certname of the node to which the component is mapped.
    pub node: String,
    /// Capabilities that the component exports.
    pub produces: Vec<String>,
    /// Capabilities that the component requires or consumes.
    #[schema(example = json!(["Sql[app1]"]))]
    pub consumes: Vec<String>,
}

/// Body of `POST environments/:environment/run_order`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunOrderQuery {
    /// Nodes to run on, as in `command/deploy`.
    pub scope: Scope,
    /// Shows the passes of `command/multi_pass`, in which nodes may wait for each other.
    #[serde(
        default,
        deserialize_with = "strict::null_is_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    #[schema(value_type = Option<bool>)]
    pub multi_pass: bool,
}

/// The order in which the nodes of a scope would run Puppet. Nothing is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunOrder {
    /// Nodes in an order in which they can run, pass by pass if there are passes.
    pub items: Vec<RunOrderNode>,
    /// References of the instances of which only some nodes are in the scope.
    pub partial_instances: Vec<String>,
    /// Nodes of the order that are not connected.
    #[serde(default)]
    pub absent_nodes: AbsentNodes,
}

/// Nodes that are not connected, each list in alphabetical order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AbsentNodes {
    /// Nodes that have never connected and are not in the inventory, at most 100. Without the permission
    /// `nodes:view_data` the inventory is not searched.
    pub unknown: Vec<UnknownNode>,
    /// Number of further such nodes.
    pub unknown_omitted: u64,
    /// Known nodes that are not connected now, at most 100.
    pub disconnected: Vec<String>,
    /// Number of further such nodes.
    pub disconnected_omitted: u64,
}

/// A node of which nothing is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnknownNode {
    /// Certname as it is written in the site.
    pub name: String,
    /// Similar names of known nodes, the nearest first, at most three. Only the first 5 unknown nodes have them, and
    /// only names are given that the caller may list.
    pub near: Vec<String>,
}

/// A node in a run order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunOrderNode {
    /// Certname of the node.
    pub name: String,
    /// Number of the pass, from 1; absent without passes. A node may run in several ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<u64>,
    /// 0 for a node that waits for none; otherwise one more than the highest level of the nodes that it waits for. Only
    /// nodes of the same pass count.
    pub level: u64,
    /// Certnames of the nodes that it waits for.
    pub waits_for: Vec<String>,
    /// Components that are mapped to the node.
    pub components: Vec<RunOrderComponent>,
    /// References of the components that are left for a later pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// A component on a node in a run order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunOrderComponent {
    /// Reference of the application instance.
    #[schema(example = "Lamp[app1]")]
    pub instance: String,
    /// Reference of the component.
    #[schema(example = "Lamp::Webapp[app1-1]")]
    pub component: String,
}
