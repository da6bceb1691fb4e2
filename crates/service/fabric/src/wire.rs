//! Messages between Tutti's brokers and orchestrators that extend PCP.
//!
//! Invariant: an extension only adds. A broker that does not know it ignores the request, and the
//! standard inventory alone still lists the connected nodes.

use std::collections::BTreeMap;

use pcp::PcpUri;
use serde::{Deserialize, Serialize};

/// Message type from a controller to `pcp:///server`, sent before its inventory request: it
/// requests the capabilities that agents announce. It has no data.
pub const PRESENCE_REQUEST: &str = "urn:tutti:pcp:presence_request";

/// Message type from a broker to a controller that requested it, with a [`AnnouncedCapabilities`]
/// as data. It is sent before the inventory message that names the same agents.
pub const PRESENCE: &str = "urn:tutti:pcp:presence";

/// The capabilities that agents announced when they connected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnnouncedCapabilities {
    /// The agent's capabilities header by address; `null` for a stock pxp-agent.
    pub capabilities: BTreeMap<PcpUri, Option<String>>,
}
