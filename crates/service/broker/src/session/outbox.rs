//! The send queue of one peer, bounded in bytes and messages, with backpressure.
//!
//! [`Outbox`] is shared by senders and the peer's actor. Invariant: a sender waits until there is
//! space for its message or gets it back; a close overtakes everything that is queued.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, Semaphore};

use crate::defaults::OUTBOX_MESSAGE_COST;

/// A message in the form of its peer's protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// PCP v2.
    Text(Bytes),
    /// PCP v1.
    Binary(Bytes),
}

/// A WebSocket close.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Closing {
    pub(crate) code: u16,
    pub(crate) reason: String,
}

/// A command from the broker to an actor.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Close(Closing),
    /// Look whether the peer's certificate is among these.
    CheckCertificate(Arc<pki::Revocations>),
}

/// A message with the room that it takes; give it back to [`Outbox::written`].
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) payload: Payload,
    cost: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PushError {
    #[error("the peer does not take messages fast enough")]
    Full,
    #[error("the connection is closing")]
    Closed,
}

#[derive(Debug)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    room: Semaphore,
    arrival: Notify,
    commands: Notify,
    budget: u32,
}

#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<Queued>,
    close: Option<Closing>,
    /// Becomes `close` when all messages are with the kernel.
    last: Option<Closing>,
    check: Option<Arc<pki::Revocations>>,
    closed: bool,
}

// === impl Payload ===

impl Payload {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(bytes) | Self::Binary(bytes) => bytes.len(),
        }
    }
}

// === impl Outbox ===

impl Outbox {
    pub(crate) fn new(budget_bytes: usize) -> Self {
        let budget = u32::try_from(budget_bytes).unwrap_or(u32::MAX / 16).max(1);
        Self {
            queue: Mutex::default(),
            room: Semaphore::new(budget as usize),
            arrival: Notify::new(),
            commands: Notify::new(),
            budget,
        }
    }

    /// Queues `payload` if there is room now.
    pub(crate) fn try_push(&self, payload: Payload) -> Result<(), (PushError, Payload)> {
        let cost = self.cost(&payload);
        match self.room.try_acquire_many(cost) {
            Ok(permit) => {
                permit.forget();
                self.append(payload, cost)
            }
            Err(tokio::sync::TryAcquireError::NoPermits) => Err((PushError::Full, payload)),
            Err(tokio::sync::TryAcquireError::Closed) => Err((PushError::Closed, payload)),
        }
    }

    /// Queues `payload`, waiting at most `patience` for room.
    pub(crate) async fn push(&self, payload: Payload, patience: Duration) -> Result<(), PushError> {
        let cost = self.cost(&payload);
        match tokio::time::timeout(patience, self.room.acquire_many(cost)).await {
            Ok(Ok(permit)) => {
                permit.forget();
                self.append(payload, cost).map_err(|(error, _)| error)
            }
            Ok(Err(_)) => Err(PushError::Closed),
            Err(_) => Err(PushError::Full),
        }
    }

    /// The next message; only the peer's actor takes. Cancel-safe.
    pub(crate) async fn next(&self) -> Queued {
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
        self.room.available_permits() < self.budget as usize / 2
    }

    /// The message is with the kernel: its room is free again.
    pub(crate) fn written(&self, cost: u32) {
        self.room.add_permits(cost as usize);
    }

    /// Asks the actor to close; nothing that is queued goes out any more. The first call wins.
    pub(crate) fn close(&self, code: u16, reason: &str) {
        {
            let mut queue = self.lock();
            if queue.closed {
                return;
            }
            queue.closed = true;
            queue.close = Some(Closing {
                code,
                reason: reason.to_owned(),
            });
            queue.messages = VecDeque::new();
        }
        self.room.close();
        self.commands.notify_one();
    }

    /// Like [`Self::close`], but what is queued goes out first.
    pub(crate) fn close_after_queue(&self, code: u16, reason: &str) {
        {
            let mut queue = self.lock();
            if queue.closed {
                return;
            }
            queue.closed = true;
            queue.last = Some(Closing {
                code,
                reason: reason.to_owned(),
            });
        }
        self.room.close();
        self.arrival.notify_one();
    }

    /// Asks the actor to look at its peer's certificate again.
    pub(crate) fn check_certificate(&self, revocations: Arc<pki::Revocations>) {
        self.lock().check = Some(revocations);
        self.commands.notify_one();
    }

    /// The next command; only the peer's actor waits. Cancel-safe.
    pub(crate) async fn command(&self) -> Command {
        loop {
            let arrival = self.commands.notified();
            if let Some(command) = self.lock().take_command() {
                return command;
            }
            arrival.await;
        }
    }

    fn take(&self) -> Option<Queued> {
        let mut queue = self.lock();
        let taken = queue.take();
        if taken.is_none() && queue.last.is_some() {
            queue.close = queue.last.take();
            drop(queue);
            self.commands.notify_one();
        }
        taken
    }

    fn cost(&self, payload: &Payload) -> u32 {
        // A message larger than the whole budget goes alone.
        u32::try_from(payload.len() + OUTBOX_MESSAGE_COST)
            .unwrap_or(u32::MAX)
            .min(self.budget)
    }

    fn append(&self, payload: Payload, cost: u32) -> Result<(), (PushError, Payload)> {
        {
            let mut queue = self.lock();
            if queue.closed {
                return Err((PushError::Closed, payload));
            }
            queue.messages.push_back(Queued { payload, cost });
        }
        self.arrival.notify_one();
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Queue ===

impl Queue {
    fn take(&mut self) -> Option<Queued> {
        let queued = self.messages.pop_front();
        if self.messages.is_empty() {
            // An idle peer keeps no buffer.
            self.messages = VecDeque::new();
        }
        queued
    }

    fn take_command(&mut self) -> Option<Command> {
        match self.close.take() {
            Some(close) => Some(Command::Close(close)),
            None => self.check.take().map(Command::CheckCertificate),
        }
    }
}

// === impl Queued ===

impl Queued {
    pub(crate) fn cost(&self) -> u32 {
        self.cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(3600);

    fn text(len: usize) -> Payload {
        Payload::Text(Bytes::from(vec![b'x'; len]))
    }

    #[tokio::test]
    async fn bytes_are_bounded_and_given_back() {
        let outbox = Outbox::new(10 * OUTBOX_MESSAGE_COST);
        outbox
            .try_push(text(9 * OUTBOX_MESSAGE_COST))
            .expect("fits");
        let (error, _) = outbox.try_push(text(0)).expect_err("full");
        assert_eq!(error, PushError::Full);
        let queued = outbox.next().await;
        assert!(outbox.try_push(text(0)).is_err(), "taken is not written");
        outbox.written(queued.cost());
        outbox.try_push(text(0)).expect("room again");
    }

    #[tokio::test]
    async fn number_of_messages_is_bounded() {
        let outbox = Outbox::new(4 * OUTBOX_MESSAGE_COST);
        for _ in 0..4 {
            outbox.try_push(text(0)).expect("fits");
        }
        assert!(outbox.try_push(text(0)).is_err());
    }

    #[tokio::test]
    async fn larger_than_the_budget_goes_alone() {
        let outbox = Outbox::new(2 * OUTBOX_MESSAGE_COST);
        outbox.try_push(text(0)).expect("fits");
        assert!(outbox.try_push(text(100_000)).is_err());
        let first = outbox.next().await;
        outbox.written(first.cost());
        outbox.try_push(text(100_000)).expect("alone");
        assert!(outbox.try_push(text(0)).is_err());
    }

    #[tokio::test]
    async fn a_waiting_sender_gets_room_or_hears_of_the_close() {
        let outbox = Outbox::new(OUTBOX_MESSAGE_COST);
        outbox.try_push(text(0)).expect("fits");
        let room = async {
            let queued = outbox.next().await;
            outbox.written(queued.cost());
        };
        let (pushed, ()) = tokio::join!(outbox.push(text(0), PATIENCE), room);
        pushed.expect("room came");
        let close = async { outbox.close(1000, "bye") };
        let (pushed, ()) = tokio::join!(outbox.push(text(0), PATIENCE), close);
        assert_eq!(pushed, Err(PushError::Closed));
        assert!(matches!(
            outbox.command().await,
            Command::Close(Closing { code: 1000, .. })
        ));
        assert!(outbox.take().is_none(), "a close overtakes what is queued");
    }

    #[tokio::test]
    async fn a_last_message_goes_out_before_the_close() {
        let outbox = Outbox::new(OUTBOX_MESSAGE_COST);
        outbox.try_push(text(3)).expect("fits");
        outbox.close_after_queue(4002, "no");
        let queued = outbox.next().await;
        assert_eq!(queued.payload.len(), 3);
        tokio::select! {
            biased;
            _ = outbox.next() => unreachable!("nothing is left"),
            command = outbox.command() => {
                assert!(matches!(command, Command::Close(Closing { code: 4002, .. })));
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn patience_ends() {
        let outbox = Outbox::new(OUTBOX_MESSAGE_COST);
        outbox.try_push(text(0)).expect("fits");
        assert_eq!(outbox.push(text(0), PATIENCE).await, Err(PushError::Full));
    }

    #[test]
    fn the_first_close_wins() {
        let outbox = Outbox::new(OUTBOX_MESSAGE_COST);
        outbox.close(1001, "idle");
        outbox.close(1012, "late");
        assert_eq!(outbox.lock().close.as_ref().map(|c| c.code), Some(1001));
    }
}
