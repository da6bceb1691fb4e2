//! Those who speak PXP for nodes that run no agent, over SSH for one.
//!
//! A [`StandIn`] gets every message whose target has the type [`SSH_TYPE`]. The rule: a stand-in and
//! an agent of the same certname have addresses of their own, so neither is ever taken for the
//! other, and a node that only a stand-in reaches does not count as connected.

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use jiff::Timestamp;
use pcp::{Certname, Message, PcpUri, UriError};

use crate::hub::SendError;
use crate::inbox::{self, Inbound};
use crate::presence::Presence;

/// The client type in the addresses of nodes that are reached over SSH. No client can take it: only
/// the fabric knows such addresses.
pub const SSH_TYPE: &str = "ssh";

/// The key in a request's parameters under which a stand-in is told how to reach the node, sealed by
/// itself before, when it is to be reached otherwise than it knows.
pub const CONNECTION_KEY: &str = "_connection";

/// Carries out requests for nodes that have no agent.
#[async_trait]
pub trait StandIn: Send + Sync + 'static {
    /// Whether it can reach the node without being told how in the request.
    fn knows(&self, certname: &Certname) -> bool;

    /// What it can do.
    fn capabilities(&self) -> Arc<pxp::Capabilities>;

    /// Takes a message for one of its nodes.
    async fn deliver(&self, message: Message) -> Result<(), SendError>;
}

/// A stand-in's way to the engine. When it is dropped, its nodes are out of reach.
#[derive(Debug)]
pub struct StandInPort {
    address: PcpUri,
    inbox: inbox::Sender,
    seat: Arc<Seat>,
    /// The same as in the seat, while it is ours.
    mark: Arc<()>,
}

/// Where the one stand-in sits.
#[derive(Default)]
pub(crate) struct Seat(RwLock<Option<Seated>>);

struct Seated {
    link: Arc<dyn StandIn>,
    since: Timestamp,
    mark: Arc<()>,
}

/// The address of a node that is reached over SSH.
pub fn ssh_address(certname: &Certname) -> Result<PcpUri, UriError> {
    PcpUri::new(certname.as_str(), SSH_TYPE)
}

// === impl Seat ===

impl Seat {
    pub(crate) fn take(
        self: &Arc<Self>,
        link: Arc<dyn StandIn>,
        address: PcpUri,
        inbox: inbox::Sender,
    ) -> StandInPort {
        let mark = Arc::<()>::default();
        let seated = Seated {
            link,
            since: Timestamp::now(),
            mark: Arc::clone(&mark),
        };
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(seated);
        StandInPort {
            address,
            inbox,
            seat: Arc::clone(self),
            mark,
        }
    }

    pub(crate) fn link(&self) -> Option<Arc<dyn StandIn>> {
        let seated = self.0.read().unwrap_or_else(PoisonError::into_inner);
        seated.as_ref().map(|seated| Arc::clone(&seated.link))
    }

    pub(crate) fn presence(&self, broker: PcpUri) -> Option<Presence> {
        let seated = self.0.read().unwrap_or_else(PoisonError::into_inner);
        seated.as_ref().map(|seated| Presence {
            broker,
            since: seated.since,
            capabilities: Some(seated.link.capabilities()),
        })
    }
}

impl std::fmt::Debug for Seat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seat").finish_non_exhaustive()
    }
}

// === impl StandInPort ===

impl StandInPort {
    /// The engine's address.
    pub fn engine_address(&self) -> &PcpUri {
        &self.address
    }

    /// Hands a message in a node's name to the engine; waits while the inbox is full. `false`: the
    /// engine is gone.
    pub async fn to_engine(&self, certname: Certname, message: Message) -> bool {
        self.inbox.send(Inbound { message, certname }).await
    }
}

impl StandInPort {
    /// Leaves the seat, unless somebody else took it: the nodes are out of reach now.
    pub fn leave(&self) {
        let mut seated = self.seat.0.write().unwrap_or_else(PoisonError::into_inner);
        if seated
            .as_ref()
            .is_some_and(|seated| Arc::ptr_eq(&seated.mark, &self.mark))
        {
            *seated = None;
        }
    }
}

impl Drop for StandInPort {
    fn drop(&mut self) {
        self.leave();
    }
}
