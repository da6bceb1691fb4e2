//! Nodes that have or had agents: [`AgentNodes`], learned from the fabric and kept in the store.
//!
//! Invariants: a node that ever had an agent counts as one for good, however long the agent is
//! away; and a newly learned node counts at once, before it is written.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError, RwLock};

use fabric::{Fabric, PresenceChange};
use partial_debug::partial_debug;
use pcp::Certname;
use store::{Store, StoreError};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::defaults::{AGENTS, AGENTS_BATCH, AGENTS_PAGE, AGENTS_RETRY};

/// The nodes that ever had an agent.
pub(crate) struct AgentNodes {
    store: Store,
    known: RwLock<HashSet<Certname>>,
    /// Learned nodes that are not in the store yet.
    unwritten: Mutex<Vec<String>>,
    changed: Notify,
}

impl AgentNodes {
    /// Reads the nodes that were learned before.
    pub(crate) async fn open(store: Store) -> Result<Self, StoreError> {
        let mut known = HashSet::new();
        let mut after = String::new();
        loop {
            let page = store.agents(&after, AGENTS_PAGE).await?;
            let Some(last) = page.last() else { break };
            after.clone_from(last);
            known.extend(page.iter().filter_map(|name| name.parse::<Certname>().ok()));
        }
        Ok(Self {
            store,
            known: RwLock::new(known),
            unwritten: Mutex::default(),
            changed: Notify::new(),
        })
    }

    pub(crate) fn contains(&self, certname: &Certname) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.contains(certname)
    }

    /// Follows the fabric until `stopped`, and calls `told` for each newly learned node.
    pub(crate) async fn follow_fabric(
        &self,
        fabric: Fabric,
        told: impl Fn(&Certname),
        stopped: CancellationToken,
    ) {
        let mut changes = fabric.watch_presence();
        let all = || fabric.connected_nodes().into_iter().map(|(name, _)| name);
        self.learn(all(), &told);
        loop {
            let change = tokio::select! {
                change = changes.next() => change,
                () = stopped.cancelled() => return,
            };
            match change {
                Ok(Some(PresenceChange::Connected(name, _))) => self.learn([name], &told),
                Ok(Some(PresenceChange::Disconnected(_))) => {}
                Err(_missed) => self.learn(all(), &told),
                Ok(None) => return,
            }
        }
    }

    /// Writes learned nodes to the store until `stopped`. After a failure the names are kept and
    /// retried; a node that is lost in a restart is learned again when its agent is connected.
    pub(crate) async fn write_learned(&self, stopped: CancellationToken) {
        loop {
            let new = self.next_batch();
            let wait = match new.is_empty() {
                true => None,
                false => match self.store.record_agents(new.clone()).await {
                    Ok(()) => continue,
                    Err(error) => {
                        tracing::warn!(%error, "cannot write down which nodes have agents");
                        self.unwritten().extend(new);
                        Some(tokio::time::sleep(AGENTS_RETRY))
                    }
                },
            };
            let ready = async {
                match wait {
                    Some(wait) => wait.await,
                    None => self.changed.notified().await,
                }
            };
            tokio::select! {
                () = ready => {}
                () = stopped.cancelled() => return,
            }
        }
    }

    fn learn(&self, certnames: impl IntoIterator<Item = Certname>, told: &impl Fn(&Certname)) {
        for certname in certnames {
            if self.contains(&certname) {
                continue;
            }
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= AGENTS {
                tracing::error!(%certname, "too many nodes had agents; this one is not remembered, \
                    and a stored connection of its name would be used while it is away");
                continue;
            }
            known.insert(certname.clone());
            drop(known);
            self.unwritten().push(certname.to_string());
            told(&certname);
            self.changed.notify_one();
        }
    }

    fn next_batch(&self) -> Vec<String> {
        let mut unwritten = self.unwritten();
        let count = unwritten.len().min(AGENTS_BATCH);
        unwritten.drain(..count).collect()
    }

    fn unwritten(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        let unwritten = &self.unwritten;
        unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

partial_debug!(AgentNodes {});
