//! What Tutti's brokers and orchestrators say to each other beyond PCP.
//!
//! The rule: an extension only adds. A broker that does not know it ignores the request, and the
//! standard inventory alone still tells who is connected.

use std::collections::BTreeMap;

use pcp::PcpUri;
use serde::{Deserialize, Serialize};

/// From a controller to `pcp:///server`, before its inventory request: tell what agents announce.
/// No data.
pub const PRESENCE_REQUEST: &str = "urn:tutti:pcp:presence_request";

/// From a broker to a controller that asked: data is a [`Presence`]. It comes before the inventory
/// message that names the same agents.
pub const PRESENCE: &str = "urn:tutti:pcp:presence";

/// What agents announced when they connected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Presence {
    /// By address: the text of the agent's capabilities header; `null` for a stock pxp-agent.
    pub capabilities: BTreeMap<PcpUri, Option<String>>,
}
