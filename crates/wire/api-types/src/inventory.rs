//! `inventory`: nodes and their connections to brokers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::PreciseTimestamp;

/// The request of `POST inventory`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InventoryQuery {
    /// Certnames of the nodes.
    pub nodes: Vec<String>,
}

/// The request of `POST selected_nodes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeSelectionQuery {
    /// Certnames, first labels of certnames, globs such as `web*`, and regular expressions between
    /// slashes.
    #[schema(example = json!(["web1", "db*", "/^mail\\d+/"]))]
    pub nodes: Vec<String>,
}

/// The nodes that were selected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeSelection {
    /// Certnames of the selected nodes, without duplicates.
    pub nodes: Vec<String>,
}

/// The connected nodes, or one item for each node of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InventoryList {
    /// One item for each node.
    pub items: Vec<InventoryItem>,
    /// Certnames that were connected when the server last ended and are still expected back, in the
    /// first two minutes after a restart. Only where all nodes are listed. New jobs wait for these
    /// nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returning: Vec<String>,
}

/// Connection of one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InventoryItem {
    /// Certname of the node.
    pub name: String,
    /// True if an agent of that name is connected.
    pub connected: bool,
    /// The broker that holds the connection, as a PCP URI; absent if the node is not connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "pcp://broker.example.com/server")]
    pub broker: Option<String>,
    /// Time at which the node connected; absent if it is not connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<PreciseTimestamp>,
    /// Version of the node's `tutti-agent`; absent for a stock pxp-agent, and in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// Cause of a missing connection; only in the reply about a single node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absence: Option<NodeAbsence>,
}

/// Cause of a missing connection, as far as the server knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeAbsence {
    /// Connected before the server restarted, and expected back.
    Returning,
    /// Connected at some time, and not now.
    Away,
    /// Reached over SSH; such a node has no connection.
    OverSsh,
    /// No agent of that name ever connected to this server.
    NeverConnected,
}
