//! `POST command/ping` (an extension of Tutti): check through the brokers that agents respond.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Body of `POST command/ping`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PingCommand {
    /// Certnames of the nodes.
    pub nodes: Vec<String>,
}

/// Reply with one item for each node of the request, in the same order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PingReply {
    /// One item for each node.
    pub items: Vec<PingItem>,
}

/// Result of one node's ping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PingItem {
    /// Certname of the node.
    pub name: String,
    /// True if the agent replied.
    pub replied: bool,
    /// Round-trip time in milliseconds; null without a reply.
    pub duration_ms: Option<f64>,
    /// Reason for the missing reply; absent if the agent replied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
