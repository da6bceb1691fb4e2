//! The number of requests that one node sends at once: [`NodeShares`].
//!
//! Invariants: a node has no more than its share, and further ones wait for its own; a node is known only as
//! long as it sends one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::PuppetApiFailure;

/// Shares of nodes that send requests now, by certname.
#[derive(Debug, Clone)]
pub(crate) struct NodeShares {
    /// Requests of a node at once.
    of_node_max: usize,
    /// Requests of all nodes at once.
    total: Arc<Semaphore>,
    nodes: Arc<Mutex<HashMap<String, Weak<Semaphore>>>>,
}

/// The turn of a request, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct NodeTurn {
    _of_node: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl NodeShares {
    pub(crate) fn new(of_node_max: usize) -> Self {
        Self {
            of_node_max,
            total: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
            nodes: Arc::default(),
        }
    }

    /// Limits the requests of all nodes at once.
    pub(crate) fn with_total(self, total: usize) -> Self {
        Self {
            total: Arc::new(Semaphore::new(total)),
            ..self
        }
    }

    /// Waits until the node may send another request, and then for the others. `None` if the server ends.
    pub(crate) async fn take_turn(&self, certname: &str) -> Option<NodeTurn> {
        let of_node = self.take(certname).await?;
        let of_all = Arc::clone(&self.total).acquire_owned().await.ok()?;
        Some(NodeTurn {
            _of_node: of_node,
            _of_all: of_all,
        })
    }

    /// The same, for at most this time.
    ///
    /// # Errors
    /// The time is over, or the server ends.
    pub(crate) async fn turn_within(
        &self,
        certname: &str,
        wait: Duration,
    ) -> Result<NodeTurn, PuppetApiFailure> {
        let turn = tokio::time::timeout(wait, self.take_turn(certname)).await;
        turn.ok().flatten().ok_or_else(|| {
            PuppetApiFailure::busy(format!(
                "{certname} waited for {} seconds because of others, or sends more than {} such requests at once",
                wait.as_secs(),
                self.of_node_max
            ))
        })
    }

    /// Waits until the node may send another request. The share is given back when the result is dropped;
    /// `None` if the server ends.
    pub(crate) async fn take(&self, certname: &str) -> Option<OwnedSemaphorePermit> {
        self.share_of(certname).acquire_owned().await.ok()
    }

    fn share_of(&self, certname: &str) -> Arc<Semaphore> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = nodes.get(certname).and_then(Weak::upgrade) {
            return known;
        }
        nodes.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(self.of_node_max));
        nodes.insert(certname.to_owned(), Arc::downgrade(&share));
        share
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::NodeShares;

    #[tokio::test]
    async fn a_node_waits_for_its_own_bodies_only() {
        let shares = NodeShares::new(2);
        let mut taken = Vec::new();
        for _ in 0..2 {
            taken.push(shares.take("a").await.unwrap());
        }
        assert!(shares.take("a").now_or_never().is_none());
        assert!(shares.take("b").now_or_never().is_some());
        taken.pop();
        assert!(shares.take("a").now_or_never().is_some());
        taken.clear();
        drop(shares.take("c").await);
        assert_eq!(
            shares.nodes.lock().unwrap().len(),
            1,
            "the others are forgotten"
        );
    }
}
