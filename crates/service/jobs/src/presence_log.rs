//! The log of connected nodes: [`PresenceLog`].
//!
//! Invariants: after a restart, however the previous server process ended, the nodes that were
//! connected then are known ([`load_connected`]); and the end of a server does not count as a
//! disconnection, so nothing is written after its shutdown begins.

use std::collections::HashSet;
use std::time::Duration;

use fabric::{Fabric, PresenceChange};
use pcp::Certname;
use store::{Store, StoreError};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::defaults::{PRESENCE_CHANGES, PRESENCE_PAGE};

/// Records in the store which nodes are connected, with the changes of one interval in one
/// transaction.
pub(crate) struct PresenceLog {
    store: Store,
    fabric: Fabric,
    /// Connected nodes according to the store.
    written: HashSet<Certname>,
    /// Nodes that were connected before the start and have not come back. They stay in the log until
    /// `returning_until`, so that a second restart expects them, too.
    returning: HashSet<Certname>,
    returning_until: Instant,
    /// Nodes whose state may differ from the store's.
    changed: HashSet<Certname>,
}

/// The nodes that were connected when the previous server process ended.
pub(crate) async fn load_connected(store: &Store) -> Result<HashSet<Certname>, StoreError> {
    let mut nodes = HashSet::new();
    let mut after = String::new();
    loop {
        let page = store.connected_nodes(&after, PRESENCE_PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(nodes);
        };
        after.clone_from(last);
        nodes.extend(page.iter().filter_map(|name| name.parse::<Certname>().ok()));
    }
}

// === impl PresenceLog ===

impl PresenceLog {
    /// `before`: the result of [`load_connected`]; `grace`: time for which these nodes are
    /// expected back.
    pub(crate) fn new(
        store: Store,
        fabric: Fabric,
        before: HashSet<Certname>,
        grace: Duration,
    ) -> Self {
        Self {
            store,
            fabric,
            returning: before.clone(),
            returning_until: Instant::now() + grace,
            written: before,
            changed: HashSet::new(),
        }
    }

    /// Follows the fabric until `stopped`, and writes every `interval`.
    pub(crate) async fn run(mut self, interval: Duration, stopped: CancellationToken) {
        let mut changes = self.fabric.watch_presence();
        self.compare_all_nodes();
        let mut tick = tokio::time::interval(interval);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let has_work = !self.changed.is_empty() || !self.returning.is_empty();
            tokio::select! {
                biased;
                () = stopped.cancelled() => return,
                _ = tick.tick(), if has_work => {
                    if let Err(error) = self.write().await {
                        tracing::warn!(%error, "cannot write which nodes are connected; tried again");
                    }
                }
                change = changes.next() => match change {
                    Ok(Some(PresenceChange::Connected(certname, _))) => self.record_connected(certname),
                    Ok(Some(PresenceChange::Disconnected(certname))) => {
                        self.changed.insert(certname);
                    }
                    Err(_missed) => self.compare_all_nodes(),
                    Ok(None) => return,
                },
            }
        }
    }

    fn record_connected(&mut self, certname: Certname) {
        self.returning.remove(&certname);
        self.changed.insert(certname);
    }

    fn compare_all_nodes(&mut self) {
        self.changed.extend(self.written.iter().cloned());
        for (certname, _) in self.fabric.connected_nodes() {
            self.record_connected(certname);
        }
    }

    async fn write(&mut self) -> Result<(), StoreError> {
        if Instant::now() >= self.returning_until {
            self.changed.extend(self.returning.drain());
        }
        let Self {
            fabric,
            written,
            returning,
            ..
        } = self;
        let differs = |certname: &Certname| {
            let is_connected = fabric.presence(certname).is_some();
            let is_written = written.contains(certname);
            is_connected != is_written && (is_connected || !returning.contains(certname))
        };
        self.changed.retain(differs);
        while !self.changed.is_empty() {
            let batch: Vec<(Certname, bool)> = self
                .changed
                .iter()
                .take(PRESENCE_CHANGES)
                .map(|certname| (certname.clone(), !self.written.contains(certname)))
                .collect();
            let rows = batch
                .iter()
                .map(|(certname, is_connected)| (certname.to_string(), *is_connected));
            self.store.record_connection_changes(rows.collect()).await?;
            for (certname, is_connected) in batch {
                self.changed.remove(&certname);
                match is_connected {
                    true => self.written.insert(certname),
                    false => self.written.remove(&certname),
                };
            }
        }
        Ok(())
    }
}
