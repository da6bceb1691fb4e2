//! Nodes that are expected back after a restart of the server: [`ReturningNodes`].
//!
//! Invariants: a node is expected back from the start until it connects, or until the grace is
//! over; one that came back and disconnected again is treated like any other; and a node is removed
//! only when the fabric has it, so a caller that reads these first and the connected nodes then
//! misses none.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pcp::Certname;
use tokio::time::Instant;

/// Shared by the engine, which keeps it, and by the handle, which reads it.
#[derive(Debug)]
pub(crate) struct ReturningNodes {
    state: Mutex<ReturningState>,
}

#[derive(Debug)]
struct ReturningState {
    nodes: HashSet<Certname>,
    until: Instant,
}

// === impl ReturningNodes ===

impl ReturningNodes {
    /// `connected_before`: the nodes that were connected when the previous server process ended.
    pub(crate) fn new(connected_before: HashSet<Certname>, until: Instant) -> Self {
        let state = ReturningState {
            nodes: connected_before,
            until,
        };
        Self {
            state: Mutex::new(state),
        }
    }

    /// Sets the end of the grace: it counts from when the engine runs, not from when it was made.
    pub(crate) fn expect_until(&self, until: Instant) {
        self.lock().until = until;
    }

    pub(crate) fn is_grace_over(&self, now: Instant) -> bool {
        now >= self.lock().until
    }

    pub(crate) fn contains(&self, certname: &Certname, now: Instant) -> bool {
        let state = self.lock();
        now < state.until && state.nodes.contains(certname)
    }

    /// All returning nodes, by name.
    pub(crate) fn list_returning(&self, now: Instant) -> Vec<Certname> {
        let state = self.lock();
        if now >= state.until {
            return Vec::new();
        }
        let mut nodes: Vec<Certname> = state.nodes.iter().cloned().collect();
        drop(state);
        nodes.sort_unstable();
        nodes
    }

    /// Removes a node that is connected.
    pub(crate) fn remove(&self, certname: &Certname) {
        self.lock().nodes.remove(certname);
    }

    pub(crate) fn retain(&self, is_away: impl FnMut(&Certname) -> bool) {
        self.lock().nodes.retain(is_away);
    }

    fn lock(&self) -> MutexGuard<'_, ReturningState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn nodes_are_expected_until_they_come_or_the_grace_is_over() {
        let start = Instant::now();
        let names: Vec<Certname> = ["a", "b"].map(|name| name.parse().unwrap()).to_vec();
        let returning = ReturningNodes::new(names.iter().cloned().collect(), start);
        assert!(returning.is_grace_over(start));
        assert_eq!(returning.list_returning(start), []);
        let grace = Duration::from_secs(2);
        returning.expect_until(start + grace);
        assert_eq!(returning.list_returning(start), names);
        returning.remove(&names[0]);
        assert!(!returning.contains(&names[0], start));
        assert!(returning.contains(&names[1], start));
        assert!(!returning.contains(&names[1], start + grace));
    }
}
