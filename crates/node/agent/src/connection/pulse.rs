//! The keepalive of one connection, shared by its reader and its writer.
//!
//! [`Pulse`] puts [`Keepalive`] behind a lock and a clock. Invariant: the lock is never held across
//! an await.

use std::sync::Mutex;

use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};

use super::control::Control;
use super::keepalive::{Keepalive, KeepaliveConfig, Step};

/// The keepalive and its wake-up.
#[derive(Debug)]
pub(crate) struct Pulse {
    keepalive: Mutex<Keepalive>,
    changed: Notify,
}

// === impl Pulse ===

impl Pulse {
    pub(crate) fn new(config: KeepaliveConfig, now: Instant) -> Self {
        Self {
            keepalive: Mutex::new(Keepalive::new(config, now)),
            changed: Notify::new(),
        }
    }

    /// Records that data was received.
    pub(crate) fn heard(&self) {
        // No wake-up: the watcher notices it when its timer fires.
        self.with(Keepalive::heard);
    }

    /// Records that a ping of this agent reached the socket.
    pub(crate) fn ping_written(&self) {
        self.with(|keepalive| keepalive.ping_written(Instant::now()));
        self.changed.notify_one();
    }

    /// Queues pings when they are due; returns the number of unanswered pings when too many in a
    /// row are unanswered.
    pub(crate) async fn watch(&self, control: &mpsc::Sender<Control>) -> u32 {
        loop {
            match self.with(|keepalive| keepalive.poll(Instant::now())) {
                Step::Wait(until) => sleep_until(until).await,
                Step::WaitForWriter => self.changed.notified().await,
                // If the queue is closed, the writer has ended the session.
                Step::Ping => {
                    let _ = control.send(Control::Ping).await;
                }
                Step::Dead { missed } => return missed,
            }
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Keepalive) -> T) -> T {
        act(&mut self
            .keepalive
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}
