//! The way out: from any task to the socket that is up, if one is.
//!
//! [`LiveOutbox`] is the [`Outbox`] of the engine. The rule that must hold: a
//! message belongs to one connection. It is either handed to that socket,
//! which `send` waits for, or reported as not sent; none waits in memory for a
//! connection to come, because the engine keeps results in its spool.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use pcp::{Message, PcpUri};
use tokio::sync::{mpsc, oneshot, watch};

use super::protocol::{Payload, PcpVersion};
use actions::{NotSent, Outbox};

/// A payload and who waits for its being written.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) payload: Payload,
    /// Dropped without a word when the connection ends first.
    pub(crate) written: Option<oneshot::Sender<()>>,
}

/// What a sender needs to know of the connection that is up.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    pub(crate) queue: mpsc::Sender<Outgoing>,
    pub(crate) version: PcpVersion,
    pub(crate) own: PcpUri,
    pub(crate) message_ttl: Duration,
}

/// Sends through whatever connection is up.
#[derive(Debug, Clone)]
pub struct LiveOutbox {
    live: Arc<watch::Sender<Option<Live>>>,
    connected: Arc<watch::Sender<bool>>,
    max_message_bytes: usize,
}

/// While it exists, its connection is the one that is up.
#[derive(Debug)]
pub(crate) struct Published {
    outbox: LiveOutbox,
}

// === impl Live ===

impl Live {
    pub(crate) fn encode(&self, message: &Message) -> Payload {
        let ttl = SignedDuration::try_from(self.message_ttl).unwrap_or(SignedDuration::MAX);
        let expires = Timestamp::now().checked_add(ttl).unwrap_or(Timestamp::MAX);
        self.version.encode(message, expires)
    }

    /// Queues a message without waiting; false when there is no room.
    pub(crate) fn try_send(&self, message: &Message) -> bool {
        let payload = self.encode(message);
        self.queue
            .try_send(Outgoing {
                payload,
                written: None,
            })
            .is_ok()
    }
}

// === impl LiveOutbox ===

impl LiveOutbox {
    /// No connection yet. `max_message_bytes` bounds what is sent.
    pub fn new(max_message_bytes: usize) -> Self {
        Self {
            live: Arc::new(watch::Sender::new(None)),
            connected: Arc::new(watch::Sender::new(false)),
            max_message_bytes,
        }
    }

    pub(crate) fn publish(&self, live: Live) -> Published {
        self.live.send_replace(Some(live));
        self.connected.send_replace(true);
        Published {
            outbox: self.clone(),
        }
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        self.outbox.live.send_replace(None);
        self.outbox.connected.send_replace(false);
    }
}

#[async_trait]
impl Outbox for LiveOutbox {
    async fn send(&self, to: &PcpUri, body: pxp::Body) -> Result<(), NotSent> {
        let live = self.live.borrow().clone().ok_or(NotSent::NotConnected)?;
        let message = body.into_message(to.clone(), live.own.clone());
        let payload = live.encode(&message);
        // The result is in the payload now: it can be large.
        drop(message);
        if payload.len() > self.max_message_bytes {
            return Err(NotSent::TooLarge {
                size_bytes: payload.len(),
                limit_bytes: self.max_message_bytes,
            });
        }
        let (written, handed_over) = oneshot::channel();
        let outgoing = Outgoing {
            payload,
            written: Some(written),
        };
        live.queue
            .send(outgoing)
            .await
            .map_err(|_| NotSent::NotConnected)?;
        // Without this our own sender would keep the queue of a dead
        // connection open.
        drop(live);
        handed_over.await.map_err(|_| NotSent::NotConnected)
    }

    fn connected(&self) -> watch::Receiver<bool> {
        self.connected.subscribe()
    }
}
