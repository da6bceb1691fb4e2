//! Fair order of the CA's work: [`CaWorkQueue`].
//!
//! Invariant: a network has one turn at a time and waits for it in a queue of its own before it
//! enters the common one, so no network ever has all turns, and a client waits for one request of
//! each other network, regardless of the number of requests that one of them has sent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pki::ca::RequestSource;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::defaults::CA_LINES_SWEPT;

/// The turns of all networks. Clones share one state.
#[derive(Clone, Debug)]
pub(super) struct CaWorkQueue {
    work_permits: Arc<Semaphore>,
    network_queues: Arc<Mutex<HashMap<RequestSource, Weak<Semaphore>>>>,
}

/// A permit to occupy a blocking thread; returned on drop.
#[derive(Debug)]
pub(super) struct CaWorkPermit {
    _work: OwnedSemaphorePermit,
    _line: OwnedSemaphorePermit,
    /// Keeps the queue of the network as long as one of its requests exists.
    _kept: Arc<Semaphore>,
}

// === impl CaWorkQueue ===

impl CaWorkQueue {
    /// Allows turns of `at_once` networks at the same time.
    pub(super) fn new(at_once: usize) -> Self {
        Self {
            work_permits: Arc::new(Semaphore::new(at_once)),
            network_queues: Arc::default(),
        }
    }

    /// Waits for the turn of a request from `source`.
    pub(super) async fn acquire(&self, source: RequestSource) -> CaWorkPermit {
        let line = self.network_queue(source);
        let in_line = Arc::clone(&line).acquire_owned().await;
        let work = Arc::clone(&self.work_permits).acquire_owned().await;
        CaWorkPermit {
            _work: work.expect("never closed"),
            _line: in_line.expect("never closed"),
            _kept: line,
        }
    }

    fn network_queue(&self, source: RequestSource) -> Arc<Semaphore> {
        let mut lines = self
            .network_queues
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get(&source).and_then(Weak::upgrade) {
            return line;
        }
        if lines.len() >= CA_LINES_SWEPT {
            lines.retain(|_, line| line.strong_count() > 0);
        }
        let line = Arc::new(Semaphore::new(1));
        lines.insert(source, Arc::downgrade(&line));
        line
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::defaults::CA_WORK_AT_ONCE;

    fn source(last: u8) -> RequestSource {
        RequestSource::new(Some([10, 0, 0, last].into()))
    }

    #[tokio::test]
    async fn one_network_never_has_all_turns() {
        let turns = CaWorkQueue::new(CA_WORK_AT_ONCE);
        let _held = turns
            .acquire(source(1))
            .now_or_never()
            .expect("a free turn");
        let mut greedy: Vec<_> = (0..100)
            .map(|_| Box::pin(turns.acquire(source(1))))
            .collect();
        for waiting in &mut greedy {
            assert!(waiting.now_or_never().is_none());
        }
        let honest = turns.acquire(source(2)).now_or_never();
        honest.expect("a turn at once");
    }

    #[tokio::test]
    async fn a_network_with_many_requests_is_passed_by_one_with_a_single_request() {
        let turns = CaWorkQueue::new(CA_WORK_AT_ONCE);
        let mut held: Vec<_> = (1..)
            .take(CA_WORK_AT_ONCE)
            .map(|network| {
                turns
                    .acquire(source(network))
                    .now_or_never()
                    .expect("a free turn")
            })
            .collect();
        let mut greedy: Vec<_> = (0..100)
            .map(|_| Box::pin(turns.acquire(source(1))))
            .collect();
        for waiting in &mut greedy {
            assert!(waiting.now_or_never().is_none());
        }
        let mut honest = Box::pin(turns.acquire(source(20)));
        assert!((&mut honest).now_or_never().is_none());
        held.remove(0);
        // The next request of the greedy network enters the common queue behind the other network.
        for waiting in &mut greedy {
            assert!(waiting.now_or_never().is_none());
        }
        honest.now_or_never().expect("its turn");
    }

    #[tokio::test]
    async fn lines_without_requests_are_forgotten() {
        let turns = CaWorkQueue::new(CA_WORK_AT_ONCE);
        for number in 0..=CA_LINES_SWEPT {
            let [.., high, low] = number.to_be_bytes();
            let network = RequestSource::new(Some([10, 0, high, low].into()));
            drop(turns.acquire(network).await);
        }
        let lines = turns.network_queues.lock().unwrap().len();
        assert_eq!(lines, 1);
    }
}
