//! Stand-ins: components that handle PXP for nodes without an agent, for example over SSH.
//!
//! A [`StandIn`] gets every message whose target has the type [`SSH_TYPE`]. Invariant: a stand-in
//! and an agent of the same certname have different addresses, so they are never confused, and a
//! node that only a stand-in reaches does not count as connected.

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

/// The request parameter with connection settings for the node, sealed earlier by the stand-in
/// itself. It is present if the node is to be reached otherwise than by the stored settings.
pub const CONNECTION_KEY: &str = "_connection";

/// Carries out requests for nodes that have no agent.
#[async_trait]
pub trait StandIn: Send + Sync + 'static {
    /// True if the stand-in can reach the node without connection settings in the request.
    fn knows(&self, certname: &Certname) -> bool;

    /// The capabilities of the stand-in.
    fn capabilities(&self) -> Arc<pxp::Capabilities>;

    /// Takes a message for one of its nodes.
    async fn deliver(&self, message: Message) -> Result<(), SendError>;
}

/// A stand-in's link to the engine. When it is dropped, its nodes are unreachable.
#[derive(Debug)]
pub struct StandInPort {
    address: PcpUri,
    inbox: inbox::Sender,
    seat: Arc<Seat>,
    /// Equal to the mark in the seat as long as this stand-in is the attached one.
    mark: Arc<()>,
}

/// The slot of the one attached stand-in.
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
    /// The PCP address of the engine.
    pub fn engine_address(&self) -> &PcpUri {
        &self.address
    }

    /// Hands a message on behalf of a node to the engine; waits while the inbox is full. Returns
    /// `false` if the engine is gone.
    pub async fn to_engine(&self, certname: Certname, message: Message) -> bool {
        self.inbox.send(Inbound { message, certname }).await
    }
}

impl StandInPort {
    /// Detaches the stand-in unless another one replaced it; its nodes are then unreachable.
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
