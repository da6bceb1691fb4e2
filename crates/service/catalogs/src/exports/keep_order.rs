//! The order in which catalogs of a node were begun, for exported resources and for capabilities:
//! [`KeepOrder`].
//!
//! The order is kept in memory, because one server process writes to a database, and a catalog does not
//! outlive it.
//!
//! Invariants: the resources of an older catalog never replace those of a newer one, whichever ends first;
//! a node is known only as long as one of its catalogs is under way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::MutexGuard;

/// Catalogs whose exported resources, or whose capabilities, will be kept.
#[derive(Debug, Default)]
pub(crate) struct KeepOrder {
    turns: Mutex<BegunTurns>,
}

#[derive(Debug, Default)]
struct BegunTurns {
    begun: u64,
    nodes: HashMap<String, Weak<NodeOrder>>,
}

/// Number of the node's newest catalog whose resources were kept. The lock is held while they are written.
type NodeOrder = tokio::sync::Mutex<u64>;

/// A catalog of a node, in its place among the catalogs of the node. Begin it before anything is read for the
/// catalog.
#[derive(Debug)]
pub struct KeepTurn {
    certname: String,
    number: u64,
    node: Arc<NodeOrder>,
}

impl KeepOrder {
    pub(crate) fn begin(&self, certname: &str) -> KeepTurn {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.begun += 1;
        let number = turns.begun;
        let known = turns.nodes.get(certname).and_then(Weak::upgrade);
        let node = known.unwrap_or_else(|| {
            turns.nodes.retain(|_, node| node.strong_count() > 0);
            let node = Arc::new(NodeOrder::default());
            let certname = certname.to_owned();
            turns.nodes.insert(certname, Arc::downgrade(&node));
            node
        });
        KeepTurn {
            certname: certname.to_owned(),
            number,
            node,
        }
    }
}

impl KeepTurn {
    /// The node.
    pub(crate) fn certname(&self) -> &str {
        &self.certname
    }

    /// Waits until no other catalog of the node is being kept. `None`: a newer one was kept already.
    pub(crate) async fn take(&self) -> Option<MutexGuard<'_, u64>> {
        let mut newest = self.node.lock().await;
        if *newest > self.number {
            return None;
        }
        *newest = self.number;
        Some(newest)
    }
}

#[cfg(test)]
mod tests {
    use super::KeepOrder;

    #[tokio::test]
    async fn an_older_catalog_comes_too_late() {
        let order = KeepOrder::default();
        let (older, newer, other) = (order.begin("a"), order.begin("a"), order.begin("b"));
        assert!(newer.take().await.is_some());
        assert!(older.take().await.is_none());
        assert!(other.take().await.is_some());
        let last = order.begin("a");
        drop((older, newer));
        assert!(last.take().await.is_some());
    }

    #[tokio::test]
    async fn nodes_without_catalogs_are_forgotten() {
        let order = KeepOrder::default();
        for number in 0..10 {
            drop(order.begin(&number.to_string()).take().await);
        }
        assert_eq!(order.turns.lock().unwrap().nodes.len(), 1);
    }
}
