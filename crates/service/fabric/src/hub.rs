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
use pcp::{Certname, Message, PcpUri};
use tokio::sync::broadcast;

use crate::defaults::{GONE_NODES, PRESENCE_CHANGES};
use crate::inbox::{self, Inbound, Inbox};
use crate::presence::{Presence, PresenceChange, PresenceEvents};
use crate::stand_in::{SSH_TYPE, Seat, StandIn, StandInPort};

/// The reason a message was not handed over. No part of it was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
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
    async fn deliver(&self, message: Message) -> Result<(), SendError>;

    /// True if the broker has reported a session of this certname.
    fn holds(&self, certname: &Certname) -> bool;
}

/// The engine's handle to send messages to nodes and to list connected nodes. Cheap to clone.
#[derive(Clone)]
pub struct Fabric {
    shared: Arc<Shared>,
}

struct Shared {
    address: PcpUri,
    inbox: inbox::Sender,
    nodes: RwLock<HashMap<Certname, Entry>>,
    /// Disconnected nodes with the time of their disconnection. Locked after `nodes`.
    gone: RwLock<HashMap<Certname, Timestamp>>,
    stand_in: Arc<Seat>,
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

struct Entry {
    port: u64,
    link: Arc<dyn BrokerLink>,
    presence: Presence,
}

/// A broker's handle. When it is dropped, its nodes count as disconnected.
pub struct BrokerPort {
    id: u64,
    broker: PcpUri,
    link: Arc<dyn BrokerLink>,
    shared: Arc<Shared>,
}

// === impl Fabric ===

impl Fabric {
    /// Creates a fabric whose engine has the address `address` (`pcp://<server certname>/server`;
    /// clients cannot take the type `server`, so the address always means the engine).
    pub fn new(address: PcpUri) -> (Self, Inbox) {
        let (sender, inbox) = inbox::inbox();
        let (changes, _) = broadcast::channel(PRESENCE_CHANGES);
        let shared = Shared {
            address,
            inbox: sender,
            nodes: RwLock::default(),
            gone: RwLock::default(),
            stand_in: Arc::default(),
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
    pub async fn send(&self, message: Message) -> Result<(), SendError> {
        let certname = target_certname(&message)?;
        if is_for_stand_in(&message) {
            return match self.shared.stand_in.link() {
                Some(stand_in) => stand_in.deliver(message).await,
                None => Err(SendError::NotConnected(certname)),
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
            None => Err(SendError::NotConnected(certname)),
        }
    }

    /// The connection of `certname`; `None` if it is not connected.
    pub fn presence(&self, certname: &Certname) -> Option<Presence> {
        let nodes = self
            .shared
            .nodes
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        nodes.get(certname).map(|entry| entry.presence.clone())
    }

    /// End of the node's last session; `None` if the node is connected now, or was never connected
    /// since this fabric was created.
    pub fn gone_since(&self, certname: &Certname) -> Option<Timestamp> {
        let gone = self.shared.gone.read();
        let gone = gone.unwrap_or_else(PoisonError::into_inner);
        gone.get(certname).copied()
    }

    /// Every connected node, in no order.
    pub fn connected(&self) -> Vec<(Certname, Presence)> {
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
    pub fn watch(&self) -> PresenceEvents {
        PresenceEvents {
            changes: self.shared.changes.subscribe(),
        }
    }

    /// True if the stand-in can reach this node, which needs no agent.
    pub fn stands_in_for(&self, certname: &Certname) -> bool {
        let stand_in = self.shared.stand_in.link();
        stand_in.is_some_and(|stand_in| stand_in.knows(certname))
    }

    /// The capabilities of the stand-in for nodes without an agent; `None` if there is no stand-in.
    pub fn stand_in(&self) -> Option<Presence> {
        self.shared.stand_in.presence(self.shared.address.clone())
    }

    /// Attaches a stand-in for nodes without an agent; it replaces the previous one.
    pub fn attach_stand_in(&self, link: Arc<dyn StandIn>) -> StandInPort {
        let Shared {
            stand_in,
            address,
            inbox,
            ..
        } = &*self.shared;
        stand_in.take(link, address.clone(), inbox.clone())
    }

    /// Every attached broker, in no order. One that reconnects is listed twice for a moment.
    pub fn brokers(&self) -> Vec<PcpUri> {
        let brokers = self.shared.read_brokers();
        brokers.values().map(|it| it.address.clone()).collect()
    }

    /// The attached brokers that hold a session of this certname: also an older one than that which
    /// [`Self::presence`] shows, since several machines may use one certificate.
    pub fn brokers_holding(&self, certname: &Certname) -> Vec<PcpUri> {
        let brokers = self.shared.read_brokers();
        let holding = brokers.values().filter(|it| it.link.holds(certname));
        holding.map(|it| it.address.clone()).collect()
    }

    /// Attaches a broker to the fabric.
    pub fn attach(&self, broker: PcpUri, link: Arc<dyn BrokerLink>) -> BrokerPort {
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

fn is_for_stand_in(message: &Message) -> bool {
    let target = message.target.as_ref();
    target.is_some_and(|target| target.client_type() == SSH_TYPE)
}

fn target_certname(message: &Message) -> Result<Certname, SendError> {
    let target = message
        .target
        .as_ref()
        .ok_or_else(|| SendError::BadTarget("none".to_owned()))?;
    target
        .common_name()
        .parse()
        .map_err(|_| SendError::BadTarget(target.to_string()))
}

// === impl Shared ===

impl Shared {
    fn read_brokers(&self) -> RwLockReadGuard<'_, HashMap<u64, AttachedBroker>> {
        self.brokers.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_brokers(&self) -> RwLockWriteGuard<'_, HashMap<u64, AttachedBroker>> {
        self.brokers.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn came(&self, certname: &Certname) {
        let mut gone = self.gone.write().unwrap_or_else(PoisonError::into_inner);
        gone.remove(certname);
    }

    fn went(&self, certname: &Certname) {
        let mut gone = self.gone.write().unwrap_or_else(PoisonError::into_inner);
        if gone.len() < GONE_NODES {
            gone.insert(certname.clone(), Timestamp::now());
        }
    }
}

// === impl BrokerPort ===

impl BrokerPort {
    /// The engine's address; a broker passes messages for it to [`Self::to_engine`].
    pub fn engine_address(&self) -> &PcpUri {
        &self.shared.address
    }

    /// Hands a node's message to the engine if the inbox has space now; otherwise returns the
    /// message, and [`Self::to_engine`] can wait for space.
    pub fn try_to_engine(&self, certname: Certname, message: Message) -> Result<(), Box<Message>> {
        self.shared.inbox.try_send(Inbound { message, certname })
    }

    /// Hands a node's message to the engine. It waits while the inbox is full, so backpressure
    /// reaches the node. Returns `false` if the engine is gone.
    pub async fn to_engine(&self, certname: Certname, message: Message) -> bool {
        self.shared.inbox.send(Inbound { message, certname }).await
    }

    /// Records that an agent is associated.
    pub fn connected(&self, certname: Certname, capabilities: Option<Arc<pxp::Capabilities>>) {
        let presence = Presence {
            broker: self.broker.clone(),
            since: jiff::Timestamp::now(),
            capabilities,
        };
        let entry = Entry {
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
        self.shared.came(&certname);
        // Sent under the lock, so that watchers see changes in the table's order. No watcher: fine.
        let _ = self
            .shared
            .changes
            .send(PresenceChange::Connected(certname, presence));
    }

    /// Records that an agent's session ended and that this broker has no newer one.
    pub fn disconnected(&self, certname: &Certname) {
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
            self.shared.went(certname);
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
                self.shared.went(certname);
                let _ = changes.send(PresenceChange::Disconnected(certname.clone()));
            }
            stays
        });
    }
}

impl fmt::Debug for BrokerPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrokerPort")
            .field("broker", &self.broker)
            .finish_non_exhaustive()
    }
}
