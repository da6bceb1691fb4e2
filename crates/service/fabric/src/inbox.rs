//! The queue of messages from nodes to the engine, bounded in messages and in bytes.
//!
//! [`EngineInbox`] is the engine's end, [`InboxSender`] the brokers'. Invariant: bytes are acquired
//! before a slot in the queue and released when the engine takes the message; a sender that waits
//! for either blocks only itself, and a message larger than the whole budget passes alone.

use std::sync::Arc;

use pcp::{Certname, PcpMessage};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::defaults::{INBOX_BYTES, INBOX_MESSAGE_COST, INBOX_MESSAGES};

/// A message from a node.
#[derive(Clone, Debug)]
pub struct InboundMessage {
    /// The message; its sender is authenticated by the broker and always present.
    pub message: PcpMessage,
    /// The node, from the sender's certificate.
    pub certname: Certname,
}

/// The engine's end of the queue of messages from nodes.
#[derive(Debug)]
pub struct EngineInbox {
    messages: mpsc::Receiver<QueuedInbound>,
}

#[derive(Clone, Debug)]
pub(crate) struct InboxSender {
    messages: mpsc::Sender<QueuedInbound>,
    space: Arc<Semaphore>,
}

#[derive(Debug)]
struct QueuedInbound {
    inbound: InboundMessage,
    /// The bytes of the message, released on drop.
    _room: OwnedSemaphorePermit,
}

pub(crate) fn new_inbox() -> (InboxSender, EngineInbox) {
    let (sender, messages) = mpsc::channel(INBOX_MESSAGES);
    let room = Arc::new(Semaphore::new(INBOX_BYTES));
    let sender = InboxSender {
        messages: sender,
        space: room,
    };
    (sender, EngineInbox { messages })
}

impl EngineInbox {
    /// Waits for the next message; `None` when every fabric and port is dropped.
    pub async fn recv(&mut self) -> Option<InboundMessage> {
        self.messages.recv().await.map(|queued| queued.inbound)
    }

    /// Returns the next message if one is queued already; `None` otherwise.
    pub fn try_recv(&mut self) -> Option<InboundMessage> {
        self.messages.try_recv().ok().map(|queued| queued.inbound)
    }
}

impl InboxSender {
    /// Queues the message if there is space now; otherwise, or if the engine is gone, returns it.
    pub(crate) fn try_send(&self, inbound: InboundMessage) -> Result<(), Box<PcpMessage>> {
        let Ok(room) = Arc::clone(&self.space).try_acquire_many_owned(cost(&inbound.message))
        else {
            return Err(Box::new(inbound.message));
        };
        let queued = QueuedInbound {
            inbound,
            _room: room,
        };
        self.messages
            .try_send(queued)
            .map_err(|error| Box::new(error.into_inner().inbound.message))
    }

    /// Queues the message, waiting for space; returns `false` if the engine is gone.
    pub(crate) async fn send(&self, inbound: InboundMessage) -> bool {
        // If the engine is dropped, so are the queued messages, and this wait ends as well.
        let room = Arc::clone(&self.space)
            .acquire_many_owned(cost(&inbound.message))
            .await
            .expect("never closed");
        let queued = QueuedInbound {
            inbound,
            _room: room,
        };
        self.messages.send(queued).await.is_ok()
    }
}

/// The bytes that a message counts for, at most the whole budget.
fn cost(message: &PcpMessage) -> u32 {
    let data_bytes = message.data.as_deref().map_or(0, |data| data.get().len());
    let bytes = data_bytes
        .saturating_add(INBOX_MESSAGE_COST)
        .min(INBOX_BYTES);
    u32::try_from(bytes).expect("the budget is below 4 GiB")
}
