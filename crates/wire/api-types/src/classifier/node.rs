//! Classification of nodes: [`ClassifyNode`], [`Classified`] and the check-ins.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{Object, PreciseTimestamp};

/// Facts and request of a node that is to be classified.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassifyNode {
    /// Facts by name; if this and `trusted` are absent, those that the server knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub fact: Option<Object>,
    /// Trusted facts, from the node's certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub trusted: Option<Object>,
    /// Environment that the agent requests; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_environment: Option<String>,
    /// Puppet's transaction id of the catalog; a request with an id is stored as a check-in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_uuid: Option<String>,
}

/// Classification of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Classified {
    /// Certname of the node.
    pub name: String,
    /// Ids of the node's groups.
    pub groups: Vec<String>,
    /// Environment of the node; `agent-specified` if the agent may choose and requested none.
    pub environment: String,
    /// Classes with the parameters that groups set.
    #[schema(value_type = Object)]
    pub classes: Value,
    /// Top-scope variables, by name.
    #[schema(value_type = Object)]
    pub parameters: Value,
    /// Values for parameters of classes that other groups or the code declare.
    #[schema(value_type = Object)]
    pub config_data: Value,
}

/// Classification of a node in the format of version 2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClassifiedByName {
    /// Groups of the node, sorted by name.
    pub groups: Vec<GroupName>,
    /// Environment of the node, as in version 1.
    pub environment: String,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Parameters that groups set, by class.
    #[schema(value_type = Object)]
    pub parameters: Value,
    /// Values for parameters of classes that other groups or the code declare.
    #[schema(value_type = Object)]
    pub config_data: Value,
    /// Top-scope variables, by name.
    #[schema(value_type = Object)]
    pub variables: Value,
}

/// Id and name of a node group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupName {
    /// UUID of the group.
    pub id: String,
    /// Name of the group.
    pub name: String,
}

/// Every step of a classification: `node_as_received`, `match_explanations`, `leaf_groups`,
/// `inherited_classifications`, and either `final_classification` with `classification_sources` or
/// `conflicts`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(value_type = Object)]
pub struct ClassificationExplanation(pub Object);

/// Recent classifications of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckIns {
    /// Certname of the node.
    pub name: String,
    /// Classifications, newest first; older ones are deleted.
    pub check_ins: Vec<CheckIn>,
    /// Transaction id of the newest check-in; absent if it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_uuid: Option<String>,
}

/// One classification of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckIn {
    /// Time of the classification.
    pub time: PreciseTimestamp,
    /// Rule of each group of the node, with every value and result.
    #[schema(value_type = Object)]
    pub explanation: Value,
    /// Puppet's transaction id of the catalog; absent if the request had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_uuid: Option<String>,
}
