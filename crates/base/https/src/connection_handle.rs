//! Handle of a connection that outlives its requests: [`ConnectionHandle`], an extension of every
//! request.
//!
//! It is for handlers that upgrade their connection (WebSockets). Invariant: such a handler keeps
//! the handle as long as it uses the connection, and ends when [`ConnectionHandle::wait_end`]
//! returns, so an upgraded connection outlives neither its certificate nor its server.

use std::sync::Arc;

use admission::{AdmissionPermit, ConnectionStage};
use pki::ServerTls;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::peer::PeerCertificate;

/// Handle of a connection. [`crate::serve`] does not return while one exists.
#[derive(Debug, Clone)]
pub struct ConnectionHandle {
    tls: Arc<ServerTls>,
    peer: PeerCertificate,
    cut: CancellationToken,
    _task: TaskTrackerToken,
    admission: Arc<AdmissionPermit>,
}

/// Reason for which a connection has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionEndReason {
    /// The client's certificate was revoked.
    Revoked,
    /// The server stopped, and the drain deadline has passed.
    Stopped,
}

// === impl ConnectionHandle ===

impl ConnectionHandle {
    pub(crate) fn new(
        tls: Arc<ServerTls>,
        peer: PeerCertificate,
        cut: CancellationToken,
        task: TaskTrackerToken,
        admission: Arc<AdmissionPermit>,
    ) -> Self {
        Self {
            tls,
            peer,
            cut,
            _task: task,
            admission,
        }
    }

    /// Marks the peer as known, by its certificate or by a valid token of a request. From then on
    /// the connection is not dropped in favour of others, and not limited per network.
    pub fn mark_authenticated(&self) {
        self.advance(ConnectionStage::Authenticated);
    }

    pub(crate) fn advance(&self, stage: ConnectionStage) {
        self.admission.advance(stage);
    }

    /// Returns when the connection has to end; immediately if it already has to.
    pub async fn wait_end(&self) -> ConnectionEndReason {
        let Some(revocation) = self.watch_revocation() else {
            return ConnectionEndReason::Revoked;
        };
        tokio::select! {
            () = self.cut.cancelled() => ConnectionEndReason::Stopped,
            () = revocation => ConnectionEndReason::Revoked,
        }
    }

    /// Waits until the client's certificate is revoked; `None` if it already is.
    pub(crate) fn watch_revocation(&self) -> Option<impl Future<Output = ()> + Send> {
        // Subscribed before the check, so that no reload is missed.
        let mut reloads = self.tls.subscribe_reloads();
        if self.is_revoked() {
            return None;
        }
        Some(async move {
            loop {
                let changed = reloads.changed().await;
                changed.expect("the sender lives in `self.tls`");
                if self.is_revoked() {
                    return;
                }
            }
        })
    }

    fn is_revoked(&self) -> bool {
        let revocations = self.tls.revocations();
        let peer = self.peer.0.as_ref();
        peer.is_some_and(|peer| revocations.is_revoked(&peer.der))
    }
}
