//! `inventory`: which nodes are connected to a broker.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::PreciseTimestamp;

/// The request of `POST inventory`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InventoryQuery {
    /// Certnames.
    pub nodes: Vec<String>,
}

/// The connected nodes, or one item for each node that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InventoryList {
    /// The nodes.
    pub items: Vec<InventoryItem>,
    /// Certnames that were connected when the server last ended and are still expected back, in the first
    /// two minutes after a restart. Only where all nodes are listed. New jobs wait for these nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returning: Vec<String>,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InventoryItem {
    /// The certname.
    pub name: String,
    /// Whether an agent of that name is connected.
    pub connected: bool,
    /// The broker that holds the connection, as a PCP URI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "pcp://broker.example.com/server")]
    pub broker: Option<String>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<PreciseTimestamp>,
}
