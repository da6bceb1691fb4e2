//! What nodes get from their groups.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{Object, PreciseTimestamp};

/// What is known of a node that is to be classified.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassifyNode {
    /// Facts by name; absent, with `trusted`: those that the server knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub fact: Option<Object>,
    /// What the node's certificate says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub trusted: Option<Object>,
    /// The environment that the agent asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_environment: Option<String>,
    /// Puppet's id of the catalog; a request with one is kept as a check-in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_uuid: Option<String>,
}

/// A classified node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Classified {
    /// The certname.
    pub name: String,
    /// The ids of its groups.
    pub groups: Vec<String>,
    /// What it runs under; `agent-specified` where the agent chooses and nobody said what.
    pub environment: String,
    /// Classes with the parameters that groups set.
    #[schema(value_type = Object)]
    pub classes: Value,
    /// Top-scope variables.
    #[schema(value_type = Object)]
    pub parameters: Value,
    /// Parameters for classes that come from elsewhere.
    #[schema(value_type = Object)]
    pub config_data: Value,
}

/// A classified node, as version 2 shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClassifiedByName {
    /// Its groups, by name.
    pub groups: Vec<GroupName>,
    /// As in version 1.
    pub environment: String,
    /// The names of classes.
    pub classes: Vec<String>,
    /// For each class the parameters that groups set.
    #[schema(value_type = Object)]
    pub parameters: Value,
    /// Parameters for classes that come from elsewhere.
    #[schema(value_type = Object)]
    pub config_data: Value,
    /// Top-scope variables.
    #[schema(value_type = Object)]
    pub variables: Value,
}

/// A group's id and name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupName {
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
}

/// Everything that led to a classification: `node_as_received`, `match_explanations`, `leaf_groups`,
/// `inherited_classifications`, and either `final_classification` with `classification_sources` or
/// `conflicts`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(value_type = Object)]
pub struct ClassificationExplanation(pub Object);

/// How a node was classified lately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckIns {
    /// The certname.
    pub name: String,
    /// Newest first; only the last ones are kept.
    pub check_ins: Vec<CheckIn>,
    /// Of the newest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_uuid: Option<String>,
}

/// One classification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckIn {
    /// When.
    pub time: PreciseTimestamp,
    /// For each group of the node its rule with every value and result.
    #[schema(value_type = Object)]
    pub explanation: Value,
    /// Puppet's id of the catalog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_uuid: Option<String>,
}
