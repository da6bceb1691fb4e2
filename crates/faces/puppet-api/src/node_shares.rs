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
    of_node: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl NodeTurn {
    /// Lets another node have the turn, and keeps the share of this one.
    pub(crate) fn into_share(self) -> OwnedSemaphorePermit {
        self.of_node
    }
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
            of_node,
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
    use std::time::Duration;

    use axum::response::IntoResponse as _;
    use futures_util::FutureExt as _;

    use super::NodeShares;
    use crate::defaults::{BUSY_RETRY_MAX, BUSY_RETRY_MIN};

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

    #[tokio::test]
    async fn one_node_does_not_take_the_turns_of_all() {
        let shares = NodeShares::new(2).with_total(3);
        let first = shares.take_turn("a").await.unwrap();
        let _second = shares.take_turn("a").await.unwrap();
        assert!(shares.take_turn("a").now_or_never().is_none());
        let other = shares.take_turn("b").now_or_never().unwrap();
        assert!(shares.take_turn("c").now_or_never().is_none());
        // an answer that is still sent is a part of its node's share, and of no other's
        let sending = first.into_share();
        assert!(shares.take_turn("a").now_or_never().is_none());
        assert!(shares.take_turn("c").now_or_never().is_some());
        drop((sending, other));
        assert!(shares.take_turn("a").now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_too_long_is_asked_to_retry() {
        let shares = NodeShares::new(1);
        let _taken = shares.take_turn("a").await.unwrap();
        let failure = shares.turn_within("a", Duration::from_secs(1)).await;
        let response = failure.unwrap_err().into_response();
        assert_eq!(response.status(), 503);
        let pause = response.headers()["retry-after"].to_str().unwrap();
        let pause = Duration::from_secs(pause.parse().unwrap());
        assert!(
            pause >= BUSY_RETRY_MIN && pause <= BUSY_RETRY_MAX,
            "{pause:?}"
        );
    }
}
