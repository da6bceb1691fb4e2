//! What nodes sent and the engine has not taken yet: a queue with room for so many messages and so
//! many bytes.
//!
//! [`Inbox`] is the engine's end, [`Sender`] the brokers'. The rule: bytes are taken before a place
//! in the queue, and given back when the engine takes the message; whoever waits for either holds
//! up nobody but itself, and a message larger than the whole budget passes alone.

use std::sync::Arc;

use pcp::{Certname, Message};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::defaults::{INBOX_BYTES, INBOX_MESSAGE_COST, INBOX_MESSAGES};

/// A message from a node.
#[derive(Clone, Debug)]
pub struct Inbound {
    /// The message; its sender is authenticated by the broker and always present.
    pub message: Message,
    /// The node, from the sender's certificate.
    pub certname: Certname,
}

/// The engine's end of what nodes send.
#[derive(Debug)]
pub struct Inbox {
    messages: mpsc::Receiver<Queued>,
}

#[derive(Clone, Debug)]
pub(crate) struct Sender {
    messages: mpsc::Sender<Queued>,
    room: Arc<Semaphore>,
}

#[derive(Debug)]
struct Queued {
    inbound: Inbound,
    /// Its bytes; free when this is dropped.
    _room: OwnedSemaphorePermit,
}

pub(crate) fn inbox() -> (Sender, Inbox) {
    let (sender, messages) = mpsc::channel(INBOX_MESSAGES);
    let room = Arc::new(Semaphore::new(INBOX_BYTES));
    let sender = Sender {
        messages: sender,
        room,
    };
    (sender, Inbox { messages })
}

impl Inbox {
    /// The next message; `None` when every fabric and port is gone.
    pub async fn recv(&mut self) -> Option<Inbound> {
        self.messages.recv().await.map(|queued| queued.inbound)
    }

    /// A message that is there already.
    pub fn try_recv(&mut self) -> Option<Inbound> {
        self.messages.try_recv().ok().map(|queued| queued.inbound)
    }
}

impl Sender {
    /// Puts the message in if there is room now; it comes back otherwise, or when the engine is gone.
    pub(crate) fn try_send(&self, inbound: Inbound) -> Result<(), Box<Message>> {
        let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(cost(&inbound.message)) else {
            return Err(Box::new(inbound.message));
        };
        let queued = Queued {
            inbound,
            _room: room,
        };
        self.messages
            .try_send(queued)
            .map_err(|error| Box::new(error.into_inner().inbound.message))
    }

    /// Waits for room; `false`: the engine is gone.
    pub(crate) async fn send(&self, inbound: Inbound) -> bool {
        // When the engine goes, what it left in the queue is dropped, so this wait ends as well.
        let room = Arc::clone(&self.room)
            .acquire_many_owned(cost(&inbound.message))
            .await
            .expect("never closed");
        let queued = Queued {
            inbound,
            _room: room,
        };
        self.messages.send(queued).await.is_ok()
    }
}

/// In bytes, and at most all that there are.
fn cost(message: &Message) -> u32 {
    let data_bytes = message.data.as_deref().map_or(0, |data| data.get().len());
    let bytes = data_bytes
        .saturating_add(INBOX_MESSAGE_COST)
        .min(INBOX_BYTES);
    u32::try_from(bytes).expect("the budget is below 4 GiB")
}
