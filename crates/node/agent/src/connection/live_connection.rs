//! Outgoing messages: from any task to the live socket, if there is one.
//!
//! [`LiveOutbox`] is the [`PxpOutbox`] of the engine. Invariant: a message belongs to one
//! connection. It is either handed to that socket, which `send` waits for, or reported as not sent;
//! none waits in memory for a later connection, because the engine keeps results in its spool.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use pcp::{PcpMessage, PcpUri};
use tokio::sync::{mpsc, oneshot, watch};

use super::protocol::{OutgoingPayload, PcpVersion};
use actions::{NotSent, PxpOutbox};

/// A payload and the sender that waits until it is written.
#[derive(Debug)]
pub(crate) struct QueuedPayload {
    pub(crate) payload: OutgoingPayload,
    /// Notified once the payload is written; dropped without a message if the connection ends
    /// first.
    pub(crate) written: Option<oneshot::Sender<()>>,
}

/// Properties of the live connection that senders need.
#[derive(Debug, Clone)]
pub(crate) struct LiveConnection {
    pub(crate) queue: mpsc::Sender<QueuedPayload>,
    pub(crate) version: PcpVersion,
    pub(crate) own: PcpUri,
    pub(crate) message_ttl: Duration,
}

/// Sends through the live connection, if there is one.
#[derive(Debug, Clone)]
pub struct LiveOutbox {
    live: Arc<watch::Sender<Option<LiveConnection>>>,
    connected: Arc<watch::Sender<bool>>,
    max_message_bytes: usize,
}

/// Guard of a published connection: while it exists, its connection is the live one.
#[derive(Debug)]
pub(crate) struct LiveConnectionGuard {
    outbox: LiveOutbox,
}

// === impl LiveConnection ===

impl LiveConnection {
    pub(crate) fn encode(&self, message: &PcpMessage) -> OutgoingPayload {
        let ttl = SignedDuration::try_from(self.message_ttl).unwrap_or(SignedDuration::MAX);
        let expires = Timestamp::now().checked_add(ttl).unwrap_or(Timestamp::MAX);
        self.version.encode(message, expires)
    }

    /// Queues a message without waiting; false if the queue is full.
    pub(crate) fn try_send(&self, message: &PcpMessage) -> bool {
        let payload = self.encode(message);
        self.queue
            .try_send(QueuedPayload {
                payload,
                written: None,
            })
            .is_ok()
    }
}

// === impl LiveOutbox ===

impl LiveOutbox {
    /// Creates an outbox without a connection. `max_message_bytes` limits the size of messages.
    pub fn new(max_message_bytes: usize) -> Self {
        Self {
            live: Arc::new(watch::Sender::new(None)),
            connected: Arc::new(watch::Sender::new(false)),
            max_message_bytes,
        }
    }

    pub(crate) fn publish(&self, live: LiveConnection) -> LiveConnectionGuard {
        self.live.send_replace(Some(live));
        self.connected.send_replace(true);
        LiveConnectionGuard {
            outbox: self.clone(),
        }
    }
}

impl Drop for LiveConnectionGuard {
    fn drop(&mut self) {
        self.outbox.live.send_replace(None);
        self.outbox.connected.send_replace(false);
    }
}

#[async_trait]
impl PxpOutbox for LiveOutbox {
    async fn send(&self, to: &PcpUri, body: pxp::PxpMessageBody) -> Result<(), NotSent> {
        let live = self.live.borrow().clone().ok_or(NotSent::NotConnected)?;
        let message = body.into_message(to.clone(), live.own.clone());
        let payload = live.encode(&message);
        // The payload now contains the result, which can be large.
        drop(message);
        if payload.len() > self.max_message_bytes {
            return Err(NotSent::TooLarge {
                size_bytes: payload.len(),
                limit_bytes: self.max_message_bytes,
            });
        }
        let (written, handed_over) = oneshot::channel();
        let outgoing = QueuedPayload {
            payload,
            written: Some(written),
        };
        live.queue
            .send(outgoing)
            .await
            .map_err(|_| NotSent::NotConnected)?;
        // Without this, this task's own sender would keep the queue of a dead connection open.
        drop(live);
        handed_over.await.map_err(|_| NotSent::NotConnected)
    }

    fn connected(&self) -> watch::Receiver<bool> {
        self.connected.subscribe()
    }
}
