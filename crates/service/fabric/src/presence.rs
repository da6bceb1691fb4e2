//! Presence: the connected nodes, with their brokers and capabilities.

use std::sync::Arc;

use jiff::Timestamp;
use pcp::{Certname, PcpUri};
use tokio::sync::broadcast;

/// One connected node, as reported by its broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePresence {
    /// The broker that holds the connection.
    pub broker: PcpUri,
    /// The time of the association.
    pub since: Timestamp,
    /// The capabilities that the agent announced; `None` for a stock pxp-agent.
    pub capabilities: Option<Arc<pxp::AgentCapabilities>>,
}

/// A node connected or disconnected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresenceChange {
    /// The node is associated now (also after it superseded an older session of its own).
    Connected(Certname, NodePresence),
    /// The node's only session ended.
    Disconnected(Certname),
}

/// A bounded stream of presence changes.
#[derive(Debug)]
pub struct PresenceEvents {
    pub(crate) changes: broadcast::Receiver<PresenceChange>,
}

impl PresenceEvents {
    /// The next change. `Err(n)`: the reader was too slow and `n` changes were dropped; read
    /// [`Fabric::connected_nodes`](crate::Fabric::connected_nodes) again. `Ok(None)`: the fabric
    /// was dropped.
    pub async fn next(&mut self) -> Result<Option<PresenceChange>, u64> {
        match self.changes.recv().await {
            Ok(change) => Ok(Some(change)),
            Err(broadcast::error::RecvError::Closed) => Ok(None),
            Err(broadcast::error::RecvError::Lagged(missed)) => Err(missed),
        }
    }
}
