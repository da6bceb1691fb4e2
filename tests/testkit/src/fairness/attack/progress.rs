//! The source that all attacks share, and their progress. Main type: [`AttackProgress`].

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

/// The source of every attack.
pub(super) const ATTACKER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 66));

/// The progress of an attack.
#[derive(Debug)]
pub(crate) struct AttackProgress {
    pub(super) actions: AtomicU64,
    pub(super) is_established: watch::Sender<bool>,
    pub(super) has_acted: watch::Sender<bool>,
}

// === impl AttackProgress ===

impl AttackProgress {
    pub(super) fn new() -> Self {
        Self {
            actions: AtomicU64::new(0),
            is_established: watch::Sender::new(false),
            has_acted: watch::Sender::new(false),
        }
    }

    /// Counts one more connection, login or request; returns their number so far.
    pub(crate) fn acted(&self) -> u64 {
        let before = self.actions.fetch_add(1, Ordering::Relaxed);
        if before == 0 {
            self.has_acted.send_replace(true);
        }
        before + 1
    }

    /// Records that the attack has its full strength.
    pub(crate) fn established(&self) {
        self.is_established.send_replace(true);
    }
}
