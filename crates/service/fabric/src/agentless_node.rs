//! Nodes without an agent: an [`AgentlessNode`] handles PXP for them, for example over SSH.
//!
//! It receives every message whose target has the type [`SSH_TYPE`]. Invariant: a node has
//! different addresses with and without an agent, so that these are never confused, and a node that
//! is reached only over SSH does not count as connected.

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use jiff::Timestamp;
use partial_debug::partial_debug;
use pcp::{Certname, PcpMessage, PcpUri, PcpUriError};

use crate::hub::FabricSendError;
use crate::inbox::{self, InboundMessage};
use crate::presence::NodePresence;

/// The client type in the addresses of nodes that are reached over SSH. No client can take it: only
/// the fabric knows such addresses.
pub const SSH_TYPE: &str = "ssh";

/// The request parameter with connection settings for the node, sealed by the [`AgentlessNode`]. It
/// is absent if the stored settings apply.
pub const CONNECTION_KEY: &str = "_connection";

/// Carries out requests for nodes that have no agent.
#[async_trait]
pub trait AgentlessNode: Send + Sync + 'static {
    /// True if the node can be reached without connection settings in the request.
    fn can_reach(&self, certname: &Certname) -> bool;

    /// The capabilities that all these nodes have.
    fn capabilities(&self) -> Arc<pxp::AgentCapabilities>;

    /// Takes a message for one of these nodes.
    async fn deliver(&self, message: PcpMessage) -> Result<(), FabricSendError>;
}

/// Link from an [`AgentlessNode`] to the engine. When it is dropped, its nodes are unreachable.
#[derive(Debug)]
pub struct AgentlessNodePort {
    address: PcpUri,
    inbox: inbox::InboxSender,
    slot: Arc<AgentlessSlot>,
    /// Equal to the mark in the slot as long as this port's [`AgentlessNode`] is attached.
    attachment: Arc<()>,
}

/// Slot for the single attached [`AgentlessNode`].
#[derive(Default)]
pub(crate) struct AgentlessSlot(RwLock<Option<AttachedAgentlessNode>>);

struct AttachedAgentlessNode {
    link: Arc<dyn AgentlessNode>,
    since: Timestamp,
    attachment: Arc<()>,
}

/// The address of a node that is reached over SSH.
pub fn ssh_address(certname: &Certname) -> Result<PcpUri, PcpUriError> {
    PcpUri::new(certname.as_str(), SSH_TYPE)
}

// === impl AgentlessSlot ===

impl AgentlessSlot {
    pub(crate) fn attach(
        self: &Arc<Self>,
        link: Arc<dyn AgentlessNode>,
        address: PcpUri,
        inbox: inbox::InboxSender,
    ) -> AgentlessNodePort {
        let mark = Arc::<()>::default();
        let seated = AttachedAgentlessNode {
            link,
            since: Timestamp::now(),
            attachment: Arc::clone(&mark),
        };
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(seated);
        AgentlessNodePort {
            address,
            inbox,
            slot: Arc::clone(self),
            attachment: mark,
        }
    }

    pub(crate) fn link(&self) -> Option<Arc<dyn AgentlessNode>> {
        let seated = self.0.read().unwrap_or_else(PoisonError::into_inner);
        seated.as_ref().map(|seated| Arc::clone(&seated.link))
    }

    pub(crate) fn presence(&self, broker: PcpUri) -> Option<NodePresence> {
        let seated = self.0.read().unwrap_or_else(PoisonError::into_inner);
        seated.as_ref().map(|seated| NodePresence {
            broker,
            since: seated.since,
            capabilities: Some(seated.link.capabilities()),
        })
    }
}

partial_debug!(AgentlessSlot {});

// === impl AgentlessNodePort ===

impl AgentlessNodePort {
    /// The PCP address of the engine.
    pub fn engine_address(&self) -> &PcpUri {
        &self.address
    }

    /// Hands a message on behalf of a node to the engine; waits while the inbox is full. Returns
    /// `false` if the engine is gone.
    pub async fn send_to_engine(&self, certname: Certname, message: PcpMessage) -> bool {
        self.inbox.send(InboundMessage { message, certname }).await
    }
}

impl AgentlessNodePort {
    /// Detaches the [`AgentlessNode`] unless another one replaced it; its nodes are then
    /// unreachable.
    pub fn detach(&self) {
        let mut seated = self.slot.0.write().unwrap_or_else(PoisonError::into_inner);
        if seated
            .as_ref()
            .is_some_and(|seated| Arc::ptr_eq(&seated.attachment, &self.attachment))
        {
            *seated = None;
        }
    }
}

impl Drop for AgentlessNodePort {
    fn drop(&mut self) {
        self.detach();
    }
}
