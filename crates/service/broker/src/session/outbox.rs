//! The send queue of one peer, bounded in bytes and messages, with backpressure: [`SessionOutbox`].
//!
//! It is shared by senders and the actor of the peer. Invariant: a sender waits until there is
//! space for its message or gets it back; a close overtakes everything that is queued.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, Semaphore};

use crate::defaults::OUTBOX_MESSAGE_COST;

/// A message in the form of its peer's protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EncodedMessage {
    /// PCP v2.
    Text(Bytes),
    /// PCP v1.
    Binary(Bytes),
}

/// A WebSocket close: code and reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionClose {
    pub(crate) code: u16,
    pub(crate) reason: String,
}

/// A command from the broker to an actor.
#[derive(Clone, Debug)]
pub(crate) enum SessionCommand {
    Close(SessionClose),
    /// Check if the peer's certificate is among these.
    CheckCertificate(Arc<pki::RevokedCertificates>),
}

/// A queued message with its cost, which is returned by [`SessionOutbox::release`].
#[derive(Debug)]
pub(crate) struct QueuedMessage {
    pub(crate) payload: EncodedMessage,
    cost: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OutboxPushError {
    #[error("the peer does not take messages fast enough")]
    Full,
    #[error("the connection is closing")]
    Closed,
}

#[derive(Debug)]
pub(crate) struct SessionOutbox {
    queue: Mutex<OutboxQueue>,
    space: Semaphore,
    arrival: Notify,
    commands: Notify,
    budget: u32,
}

#[derive(Debug, Default)]
struct OutboxQueue {
    messages: VecDeque<QueuedMessage>,
    close: Option<SessionClose>,
    /// Close to send after all queued messages; moved to `close` then.
    last: Option<SessionClose>,
    check: Option<Arc<pki::RevokedCertificates>>,
    closed: bool,
}

// === impl EncodedMessage ===

impl EncodedMessage {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(bytes) | Self::Binary(bytes) => bytes.len(),
        }
    }
}

// === impl SessionOutbox ===

impl SessionOutbox {
    pub(crate) fn new(budget_bytes: usize) -> Self {
        let budget = u32::try_from(budget_bytes).unwrap_or(u32::MAX / 16).max(1);
        Self {
            queue: Mutex::default(),
            space: Semaphore::new(budget as usize),
            arrival: Notify::new(),
            commands: Notify::new(),
            budget,
        }
    }

    /// Queues `payload` if there is space now.
    pub(crate) fn try_push(
        &self,
        payload: EncodedMessage,
    ) -> Result<(), (OutboxPushError, EncodedMessage)> {
        let cost = self.cost(&payload);
        match self.space.try_acquire_many(cost) {
            Ok(permit) => {
                permit.forget();
                self.append(payload, cost)
            }
            Err(tokio::sync::TryAcquireError::NoPermits) => Err((OutboxPushError::Full, payload)),
            Err(tokio::sync::TryAcquireError::Closed) => Err((OutboxPushError::Closed, payload)),
        }
    }

    /// Queues `payload`, waiting at most `patience` for space.
    pub(crate) async fn push(
        &self,
        payload: EncodedMessage,
        patience: Duration,
    ) -> Result<(), OutboxPushError> {
        let cost = self.cost(&payload);
        match tokio::time::timeout(patience, self.space.acquire_many(cost)).await {
            Ok(Ok(permit)) => {
                permit.forget();
                self.append(payload, cost).map_err(|(error, _)| error)
            }
            Ok(Err(_)) => Err(OutboxPushError::Closed),
            Err(_) => Err(OutboxPushError::Full),
        }
    }

    /// The next message, for the peer's actor only. Cancel-safe.
    pub(crate) async fn next_message(&self) -> QueuedMessage {
        loop {
            let arrival = self.arrival.notified();
            if let Some(queued) = self.take() {
                return queued;
            }
            arrival.await;
        }
    }

    /// True if less than half of the space is left.
    pub(crate) fn is_congested(&self) -> bool {
        self.space.available_permits() < self.budget as usize / 2
    }

    /// Returns the space of a message that was handed to the kernel.
    pub(crate) fn release(&self, cost: u32) {
        self.space.add_permits(cost as usize);
    }

    /// Requests a close without sending the queued messages. The first call wins.
    pub(crate) fn close(&self, code: u16, reason: &str) {
        {
            let mut queue = self.lock();
            if queue.closed {
                return;
            }
            queue.closed = true;
            queue.close = Some(SessionClose {
                code,
                reason: reason.to_owned(),
            });
            queue.messages = VecDeque::new();
        }
        self.space.close();
        self.commands.notify_one();
    }

    /// Like [`Self::close`], but after the queued messages are sent.
    pub(crate) fn close_after_queue(&self, code: u16, reason: &str) {
        {
            let mut queue = self.lock();
            if queue.closed {
                return;
            }
            queue.closed = true;
            queue.last = Some(SessionClose {
                code,
                reason: reason.to_owned(),
            });
        }
        self.space.close();
        self.arrival.notify_one();
    }

    /// Requests a check of the peer's certificate.
    pub(crate) fn check_certificate(&self, revocations: Arc<pki::RevokedCertificates>) {
        self.lock().check = Some(revocations);
        self.commands.notify_one();
    }

    /// The next command, for the peer's actor only. Cancel-safe.
    pub(crate) async fn next_command(&self) -> SessionCommand {
        loop {
            let arrival = self.commands.notified();
            if let Some(command) = self.lock().take_command() {
                return command;
            }
            arrival.await;
        }
    }

    fn take(&self) -> Option<QueuedMessage> {
        let mut queue = self.lock();
        let taken = queue.take();
        if taken.is_none() && queue.last.is_some() {
            queue.close = queue.last.take();
            drop(queue);
            self.commands.notify_one();
        }
        taken
    }

    fn cost(&self, payload: &EncodedMessage) -> u32 {
        // A message larger than the whole budget takes all of it.
        u32::try_from(payload.len() + OUTBOX_MESSAGE_COST)
            .unwrap_or(u32::MAX)
            .min(self.budget)
    }

    fn append(
        &self,
        payload: EncodedMessage,
        cost: u32,
    ) -> Result<(), (OutboxPushError, EncodedMessage)> {
        {
            let mut queue = self.lock();
            if queue.closed {
                return Err((OutboxPushError::Closed, payload));
            }
            queue.messages.push_back(QueuedMessage { payload, cost });
        }
        self.arrival.notify_one();
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, OutboxQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl OutboxQueue ===

impl OutboxQueue {
    fn take(&mut self) -> Option<QueuedMessage> {
        let queued = self.messages.pop_front();
        if self.messages.is_empty() {
            // An idle peer keeps no buffer.
            self.messages = VecDeque::new();
        }
        queued
    }

    fn take_command(&mut self) -> Option<SessionCommand> {
        match self.close.take() {
            Some(close) => Some(SessionCommand::Close(close)),
            None => self.check.take().map(SessionCommand::CheckCertificate),
        }
    }
}

// === impl QueuedMessage ===

impl QueuedMessage {
    pub(crate) fn cost(&self) -> u32 {
        self.cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(3600);

    fn text(len: usize) -> EncodedMessage {
        EncodedMessage::Text(Bytes::from(vec![b'x'; len]))
    }

    #[tokio::test]
    async fn bytes_are_bounded_and_given_back() {
        let outbox = SessionOutbox::new(10 * OUTBOX_MESSAGE_COST);
        outbox
            .try_push(text(9 * OUTBOX_MESSAGE_COST))
            .expect("fits");
        let (error, _) = outbox.try_push(text(0)).expect_err("full");
        assert_eq!(error, OutboxPushError::Full);
        let queued = outbox.next_message().await;
        assert!(outbox.try_push(text(0)).is_err(), "taken is not written");
        outbox.release(queued.cost());
        outbox.try_push(text(0)).expect("room again");
    }

    #[tokio::test]
    async fn number_of_messages_is_bounded() {
        let outbox = SessionOutbox::new(4 * OUTBOX_MESSAGE_COST);
        for _ in 0..4 {
            outbox.try_push(text(0)).expect("fits");
        }
        assert!(outbox.try_push(text(0)).is_err());
    }

    #[tokio::test]
    async fn larger_than_the_budget_goes_alone() {
        let outbox = SessionOutbox::new(2 * OUTBOX_MESSAGE_COST);
        outbox.try_push(text(0)).expect("fits");
        assert!(outbox.try_push(text(100_000)).is_err());
        let first = outbox.next_message().await;
        outbox.release(first.cost());
        outbox.try_push(text(100_000)).expect("alone");
        assert!(outbox.try_push(text(0)).is_err());
    }

    #[tokio::test]
    async fn a_waiting_sender_gets_room_or_hears_of_the_close() {
        let outbox = SessionOutbox::new(OUTBOX_MESSAGE_COST);
        outbox.try_push(text(0)).expect("fits");
        let room = async {
            let queued = outbox.next_message().await;
            outbox.release(queued.cost());
        };
        let (pushed, ()) = tokio::join!(outbox.push(text(0), PATIENCE), room);
        pushed.expect("room came");
        let close = async { outbox.close(1000, "bye") };
        let (pushed, ()) = tokio::join!(outbox.push(text(0), PATIENCE), close);
        assert_eq!(pushed, Err(OutboxPushError::Closed));
        assert!(matches!(
            outbox.next_command().await,
            SessionCommand::Close(SessionClose { code: 1000, .. })
        ));
        assert!(outbox.take().is_none(), "a close overtakes what is queued");
    }

    #[tokio::test]
    async fn a_last_message_goes_out_before_the_close() {
        let outbox = SessionOutbox::new(OUTBOX_MESSAGE_COST);
        outbox.try_push(text(3)).expect("fits");
        outbox.close_after_queue(4002, "no");
        let queued = outbox.next_message().await;
        assert_eq!(queued.payload.len(), 3);
        tokio::select! {
            biased;
            _ = outbox.next_message() => unreachable!("nothing is left"),
            command = outbox.next_command() => {
                assert!(matches!(command, SessionCommand::Close(SessionClose { code: 4002, .. })));
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn patience_ends() {
        let outbox = SessionOutbox::new(OUTBOX_MESSAGE_COST);
        outbox.try_push(text(0)).expect("fits");
        assert_eq!(
            outbox.push(text(0), PATIENCE).await,
            Err(OutboxPushError::Full)
        );
    }

    #[test]
    fn the_first_close_wins() {
        let outbox = SessionOutbox::new(OUTBOX_MESSAGE_COST);
        outbox.close(1001, "idle");
        outbox.close(1012, "late");
        assert_eq!(outbox.lock().close.as_ref().map(|c| c.code), Some(1001));
    }
}
