//! The keepalive of one connection, shared by its reader and its writer.
//!
//! [`SharedKeepalive`] puts [`Keepalive`] behind a lock and a clock. Invariant: the lock is never
//! held across an await.

use std::sync::Mutex;

use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};

use super::control::ControlFrame;
use super::keepalive::{Keepalive, KeepaliveConfig, KeepaliveStep};

/// The keepalive and its wake-up.
#[derive(Debug)]
pub(crate) struct SharedKeepalive {
    keepalive: Mutex<Keepalive>,
    changed: Notify,
}

// === impl SharedKeepalive ===

impl SharedKeepalive {
    pub(crate) fn new(config: KeepaliveConfig, now: Instant) -> Self {
        Self {
            keepalive: Mutex::new(Keepalive::new(config, now)),
            changed: Notify::new(),
        }
    }

    /// Records that data was received.
    pub(crate) fn record_received(&self) {
        // No wake-up: the watcher notices it when its timer fires.
        self.with(Keepalive::record_received);
    }

    /// Records that a ping of this agent reached the socket.
    pub(crate) fn record_ping_written(&self) {
        self.with(|keepalive| keepalive.record_ping_written(Instant::now()));
        self.changed.notify_one();
    }

    /// Queues pings when they are due; returns the number of unanswered pings when too many in a
    /// row are unanswered.
    pub(crate) async fn watch(&self, control: &mpsc::Sender<ControlFrame>) -> u32 {
        loop {
            match self.with(|keepalive| keepalive.poll(Instant::now())) {
                KeepaliveStep::Wait(until) => sleep_until(until).await,
                KeepaliveStep::WaitForWriter => self.changed.notified().await,
                // If the queue is closed, the writer has ended the session.
                KeepaliveStep::Ping => {
                    let _ = control.send(ControlFrame::Ping).await;
                }
                KeepaliveStep::Dead { missed } => return missed,
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
