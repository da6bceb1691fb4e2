//! `POST command/ping` (ours): ask agents for a sign of life, through their brokers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PingCommand {
    /// Certnames.
    pub nodes: Vec<String>,
}

/// The reply, one item for each node that was asked, in the same order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PingReply {
    /// The answers.
    pub items: Vec<PingItem>,
}

/// What came of one node's ping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PingItem {
    /// The node.
    pub name: String,
    /// Whether it answered.
    pub replied: bool,
    /// How long the answer took, in milliseconds; null without one.
    pub duration_ms: Option<f64>,
    /// Why there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
