//! The in-process fabric: a table of connected nodes and their brokers, and one inbox.
//!
//! [`Fabric`] is the engine's side, [`BrokerPort`] a broker's. Invariant: the entry of a node is
//! the last state reported by the broker that holds its newest session.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use async_trait::async_trait;
use jiff::Timestamp;
use partial_debug::partial_debug;
use pcp::{Certname, PcpMessage, PcpUri};
use tokio::sync::broadcast;

use crate::agentless_node::{AgentlessNode, AgentlessNodePort, AgentlessSlot, SSH_TYPE};
use crate::defaults::{GONE_NODES, PRESENCE_CHANGES};
use crate::inbox::{self, EngineInbox, InboundMessage};
use crate::presence::{NodePresence, PresenceChange, PresenceEvents};

/// The reason a message was not handed over. No part of it was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FabricSendError {
    /// No broker holds a session of the node.
    #[error("{0} is not connected to any broker; is tutti-agent (or pxp-agent) running there?")]
    NotConnected(Certname),
    /// The session's queue stayed full until the broker's delivery timeout.
    #[error("{0} does not take messages fast enough; its queue in the broker is full")]
    Busy(Certname),
    /// The message's target is not the address of an agent.
    #[error("{0} is not the address of an agent")]
    BadTarget(String),
    /// The broker refused the message.
    #[error("the broker refused the message: {0}")]
    Refused(String),
}

/// Delivery of messages to the sessions of a broker.
#[async_trait]
pub trait BrokerLink: Send + Sync + 'static {
    /// Puts the message into the session's queue, waiting a bounded time for space.
    async fn deliver(&self, message: PcpMessage) -> Result<(), FabricSendError>;

    /// True if the broker has reported a session of this certname.
    fn has_session(&self, certname: &Certname) -> bool;
}

/// The engine's handle to send messages to nodes and to list connected nodes. Cheap to clone.
#[derive(Clone)]
pub struct Fabric {
    shared: Arc<FabricState>,
}

struct FabricState {
    address: PcpUri,
    inbox: inbox::InboxSender,
    nodes: RwLock<HashMap<Certname, NodeConnection>>,
    /// Disconnected nodes with the time of their disconnection. Locked after `nodes`.
    disconnected_since: RwLock<HashMap<Certname, Timestamp>>,
    agentless_slot: Arc<AgentlessSlot>,
    changes: broadcast::Sender<PresenceChange>,
    /// Every attached broker, by the id of its port.
    brokers: RwLock<HashMap<u64, AttachedBroker>>,
    next_broker: AtomicU64,
}

/// A broker that is attached to this fabric, and the link to its sessions.
struct AttachedBroker {
    address: PcpUri,
    link: Arc<dyn BrokerLink>,
}

struct NodeConnection {
    port: u64,
    link: Arc<dyn BrokerLink>,
    presence: NodePresence,
}

/// A broker's handle. When it is dropped, its nodes count as disconnected.
pub struct BrokerPort {
    id: u64,
    broker: PcpUri,
    link: Arc<dyn BrokerLink>,
    shared: Arc<FabricState>,
}

// === impl Fabric ===

impl Fabric {
    /// Creates a fabric whose engine has the address `address` (`pcp://<server certname>/server`;
    /// clients cannot take the type `server`, so the address always means the engine).
    pub fn new(address: PcpUri) -> (Self, EngineInbox) {
        let (sender, inbox) = inbox::new_inbox();
        let (changes, _) = broadcast::channel(PRESENCE_CHANGES);
        let shared = FabricState {
            address,
            inbox: sender,
            nodes: RwLock::default(),
            disconnected_since: RwLock::default(),
            agentless_slot: Arc::default(),
            changes,
            brokers: RwLock::default(),
            next_broker: AtomicU64::new(1),
        };
        (
            Self {
                shared: Arc::new(shared),
            },
            inbox,
        )
    }

    /// The sender address that an engine's messages carry.
    pub fn address(&self) -> &PcpUri {
        &self.shared.address
    }

    /// Hands `message` to the broker that holds its target.
    pub async fn send(&self, message: PcpMessage) -> Result<(), FabricSendError> {
        let certname = read_target_certname(&message)?;
        if is_for_stand_in(&message) {
            return match self.shared.agentless_slot.link() {
                Some(stand_in) => stand_in.deliver(message).await,
                None => Err(FabricSendError::NotConnected(certname)),
            };
        }
        let link = {
            let nodes = self
                .shared
                .nodes
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            nodes.get(&certname).map(|entry| Arc::clone(&entry.link))
        };
        match link {
            Some(link) => link.deliver(message).await,
            None => Err(FabricSendError::NotConnected(certname)),
        }
    }

    /// The connection of `certname`; `None` if it is not connected.
    pub fn presence(&self, certname: &Certname) -> Option<NodePresence> {
        let nodes = self
            .shared
            .nodes
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        nodes.get(certname).map(|entry| entry.presence.clone())
    }

    /// End of the node's last session; `None` if the node is connected now, or was never connected
    /// since this fabric was created.
    pub fn disconnected_since(&self, certname: &Certname) -> Option<Timestamp> {
        let gone = self.shared.disconnected_since.read();
        let gone = gone.unwrap_or_else(PoisonError::into_inner);
        gone.get(certname).copied()
    }

    /// Every connected node, in no order.
    pub fn connected_nodes(&self) -> Vec<(Certname, NodePresence)> {
        let nodes = self
            .shared
            .nodes
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        nodes
            .iter()
            .map(|(name, entry)| (name.clone(), entry.presence.clone()))
            .collect()
    }

    /// Subscribes to presence changes from now on.
    pub fn watch_presence(&self) -> PresenceEvents {
        PresenceEvents {
            changes: self.shared.changes.subscribe(),
        }
    }

    /// True if the attached [`AgentlessNode`] can reach this node.
    pub fn is_agentless_node(&self, certname: &Certname) -> bool {
        let stand_in = self.shared.agentless_slot.link();
        stand_in.is_some_and(|stand_in| stand_in.can_reach(certname))
    }

    /// Presence of the attached [`AgentlessNode`], with its capabilities; `None` if there is none.
    pub fn agentless_presence(&self) -> Option<NodePresence> {
        self.shared
            .agentless_slot
            .presence(self.shared.address.clone())
    }

    /// Attaches the handler of nodes without an agent; it replaces the previous one.
    pub fn attach_agentless_node(&self, link: Arc<dyn AgentlessNode>) -> AgentlessNodePort {
        let FabricState {
            agentless_slot: stand_in,
            address,
            inbox,
            ..
        } = &*self.shared;
        stand_in.attach(link, address.clone(), inbox.clone())
    }

    /// Every attached broker, in no order. One that reconnects is listed twice for a moment.
    pub fn brokers(&self) -> Vec<PcpUri> {
        let brokers = self.shared.read_brokers();
        brokers.values().map(|it| it.address.clone()).collect()
    }

    /// The attached brokers that hold a session of this certname: also an older one than that which
    /// [`Self::presence`] shows, since several machines may use one certificate.
    pub fn brokers_with_session(&self, certname: &Certname) -> Vec<PcpUri> {
        let brokers = self.shared.read_brokers();
        let holding = brokers.values().filter(|it| it.link.has_session(certname));
        holding.map(|it| it.address.clone()).collect()
    }

    /// Attaches a broker to the fabric.
    pub fn attach_broker(&self, broker: PcpUri, link: Arc<dyn BrokerLink>) -> BrokerPort {
        let id = self.shared.next_broker.fetch_add(1, Ordering::Relaxed);
        let attached = AttachedBroker {
            address: broker.clone(),
            link: Arc::clone(&link),
        };
        self.shared.write_brokers().insert(id, attached);
        BrokerPort {
            id,
            broker,
            link,
            shared: Arc::clone(&self.shared),
        }
    }
}

impl fmt::Debug for Fabric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fabric")
            .field("address", &self.shared.address)
            .finish_non_exhaustive()
    }
}

fn is_for_stand_in(message: &PcpMessage) -> bool {
    let target = message.target.as_ref();
    target.is_some_and(|target| target.client_type() == SSH_TYPE)
}

fn read_target_certname(message: &PcpMessage) -> Result<Certname, FabricSendError> {
    let target = message
        .target
        .as_ref()
        .ok_or_else(|| FabricSendError::BadTarget("none".to_owned()))?;
    target
        .common_name()
        .parse()
        .map_err(|_| FabricSendError::BadTarget(target.to_string()))
}

// === impl FabricState ===

impl FabricState {
    fn read_brokers(&self) -> RwLockReadGuard<'_, HashMap<u64, AttachedBroker>> {
        self.brokers.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_brokers(&self) -> RwLockWriteGuard<'_, HashMap<u64, AttachedBroker>> {
        self.brokers.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget_disconnect(&self, certname: &Certname) {
        let mut gone = self
            .disconnected_since
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        gone.remove(certname);
    }

    fn record_disconnect(&self, certname: &Certname) {
        let mut gone = self
            .disconnected_since
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if gone.len() < GONE_NODES {
            gone.insert(certname.clone(), Timestamp::now());
        }
    }
}

// === impl BrokerPort ===

impl BrokerPort {
    /// The engine's address; a broker passes messages for it to [`Self::send_to_engine`].
    pub fn engine_address(&self) -> &PcpUri {
        &self.shared.address
    }

    /// Hands a node's message to the engine if the inbox has space now; otherwise returns the
    /// message, and [`Self::send_to_engine`] can wait for space.
    pub fn try_send_to_engine(
        &self,
        certname: Certname,
        message: PcpMessage,
    ) -> Result<(), Box<PcpMessage>> {
        self.shared
            .inbox
            .try_send(InboundMessage { message, certname })
    }

    /// Hands a node's message to the engine. It waits while the inbox is full, so backpressure
    /// reaches the node. Returns `false` if the engine is gone.
    pub async fn send_to_engine(&self, certname: Certname, message: PcpMessage) -> bool {
        self.shared
            .inbox
            .send(InboundMessage { message, certname })
            .await
    }

    /// Records that an agent is associated.
    pub fn add_node(&self, certname: Certname, capabilities: Option<Arc<pxp::AgentCapabilities>>) {
        let presence = NodePresence {
            broker: self.broker.clone(),
            since: jiff::Timestamp::now(),
            capabilities,
        };
        let entry = NodeConnection {
            port: self.id,
            link: Arc::clone(&self.link),
            presence: presence.clone(),
        };
        let mut nodes = self
            .shared
            .nodes
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        nodes.insert(certname.clone(), entry);
        self.shared.forget_disconnect(&certname);
        // Sent under the lock, so that watchers see changes in the table's order. No watcher is
        // needed.
        let _ = self
            .shared
            .changes
            .send(PresenceChange::Connected(certname, presence));
    }

    /// Records that an agent's session ended and that this broker has no newer one.
    pub fn remove_node(&self, certname: &Certname) {
        let mut nodes = self
            .shared
            .nodes
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        // The node may have reconnected through another broker; that broker's entry then stays.
        if nodes
            .get(certname)
            .is_some_and(|entry| entry.port == self.id)
        {
            nodes.remove(certname);
            self.shared.record_disconnect(certname);
            let _ = self
                .shared
                .changes
                .send(PresenceChange::Disconnected(certname.clone()));
        }
    }
}

impl Drop for BrokerPort {
    fn drop(&mut self) {
        self.shared.write_brokers().remove(&self.id);
        let mut nodes = self
            .shared
            .nodes
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let changes = &self.shared.changes;
        nodes.retain(|certname, entry| {
            let stays = entry.port != self.id;
            if !stays {
                self.shared.record_disconnect(certname);
                let _ = changes.send(PresenceChange::Disconnected(certname.clone()));
            }
            stays
        });
    }
}

partial_debug!(BrokerPort { broker });
