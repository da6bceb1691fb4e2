//! The active transactions: [`ActiveTransactions`], which alone decides if a request is accepted.
//!
//! Invariants: an id is active once; a request is accepted, reported as a duplicate, or refused
//! with a reason, never dropped; an [`ActiveTransaction`] leaves the table when its
//! [`TransactionGuard`] is dropped, however its task ends.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pcp::PcpUri;
use pxp::TransactionId;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::spool::SpoolEntry;

/// Stop request for an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StopRequest {
    No,
    /// SIGTERM first, then SIGKILL.
    Terminate,
    Kill,
}

/// One transaction that waits or runs.
#[derive(Debug)]
pub(super) struct ActiveTransaction {
    pub(super) id: TransactionId,
    stop: watch::Sender<StopRequest>,
    entry: OnceLock<SpoolEntry>,
    /// Viewer and credit limit in bytes, if credit was granted before the entry existed.
    early_credit: Mutex<Option<(PcpUri, u64)>>,
    acknowledged: AtomicBool,
    ended: CancellationToken,
}

/// Limits of accepted requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct TransactionLimits {
    /// Maximum number of running and waiting actions together.
    pub(super) max_actions: usize,
    /// Maximum total size of the parameters of all of them.
    pub(super) max_bytes: usize,
}

#[derive(Debug)]
pub(super) struct ActiveTransactions {
    table: Mutex<TransactionTable>,
    limits: TransactionLimits,
}

#[derive(Debug, Default)]
struct TransactionTable {
    active: HashMap<TransactionId, Arc<ActiveTransaction>>,
    bytes: usize,
}

/// Decision about a request.
#[derive(Debug)]
pub(super) enum TransactionAdmission {
    Admitted(TransactionGuard),
    /// The id is already active.
    Duplicate,
}

/// Reason for which a request is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum TransactionLimitError {
    #[error("this agent already runs or queues {0} actions, its limit; try again later")]
    Actions(usize),
    #[error(
        "the parameters of the actions that this agent queues exceed {0} bytes; try again later"
    )]
    Bytes(usize),
}

/// An entry in the table of active transactions, removed on drop.
#[derive(Debug)]
pub(super) struct TransactionGuard {
    pub(super) active: Arc<ActiveTransaction>,
    bytes: usize,
    transactions: Arc<ActiveTransactions>,
}

// === impl ActiveTransactions ===

impl ActiveTransactions {
    pub(super) fn new(limits: TransactionLimits) -> Arc<Self> {
        Arc::new(Self {
            table: Mutex::default(),
            limits,
        })
    }

    /// Accepts a request with `bytes` of parameters, if the limits allow it.
    pub(super) fn admit(
        self: &Arc<Self>,
        id: &TransactionId,
        bytes: usize,
    ) -> Result<TransactionAdmission, TransactionLimitError> {
        let mut table = self.table();
        if table.active.contains_key(id) {
            return Ok(TransactionAdmission::Duplicate);
        }
        if table.active.len() >= self.limits.max_actions {
            return Err(TransactionLimitError::Actions(self.limits.max_actions));
        }
        // One request is always accepted, regardless of its size.
        if table.bytes > 0 && table.bytes + bytes > self.limits.max_bytes {
            return Err(TransactionLimitError::Bytes(self.limits.max_bytes));
        }
        Ok(TransactionAdmission::Admitted(
            self.insert(&mut table, id, bytes),
        ))
    }

    /// Accepts a transaction of an earlier agent process, regardless of the limits.
    pub(super) fn resume(self: &Arc<Self>, id: &TransactionId) -> TransactionGuard {
        self.insert(&mut self.table(), id, 0)
    }

    pub(super) fn get(&self, id: &TransactionId) -> Option<Arc<ActiveTransaction>> {
        self.table().active.get(id).cloned()
    }

    pub(super) fn is_active(&self, id: &TransactionId) -> bool {
        self.table().active.contains_key(id)
    }

    /// True if an active transaction works in this entry.
    pub(super) fn is_using(&self, entry: &SpoolEntry) -> bool {
        self.table()
            .active
            .values()
            .any(|active| active.entry() == Some(entry))
    }

    fn insert(
        self: &Arc<Self>,
        table: &mut TransactionTable,
        id: &TransactionId,
        bytes: usize,
    ) -> TransactionGuard {
        let active = Arc::new(ActiveTransaction {
            id: id.clone(),
            stop: watch::Sender::new(StopRequest::No),
            entry: OnceLock::new(),
            early_credit: Mutex::default(),
            acknowledged: AtomicBool::new(false),
            ended: CancellationToken::new(),
        });
        table.active.insert(id.clone(), Arc::clone(&active));
        table.bytes += bytes;
        TransactionGuard {
            active,
            bytes,
            transactions: Arc::clone(self),
        }
    }

    fn table(&self) -> MutexGuard<'_, TransactionTable> {
        // Each change is a single insert or remove, so the table is consistent after a panic
        // elsewhere.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl ActiveTransaction ===

impl ActiveTransaction {
    /// Requests the end of the action; a later, harder request replaces a softer one.
    pub(super) fn stop(&self, force: bool) {
        let wish = if force {
            StopRequest::Kill
        } else {
            StopRequest::Terminate
        };
        self.stop.send_if_modified(|stop| {
            let harder = wish > *stop;
            *stop = (*stop).max(wish);
            harder
        });
    }

    pub(super) fn subscribe_stops(&self) -> watch::Receiver<StopRequest> {
        self.stop.subscribe()
    }

    pub(super) fn set_entry(&self, entry: SpoolEntry) {
        // Set once, by the task that owns the turn.
        let _ = self.entry.set(entry);
    }

    /// Keeps credit for an output that has no entry yet: credit arrives right behind the request,
    /// and creating a durable entry takes longer than that.
    pub(super) fn keep_credit(&self, viewer: &PcpUri, until: u64) {
        let mut kept = self
            .early_credit
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *kept = Some((viewer.clone(), until));
    }

    /// Takes the kept credit; only the first call returns it.
    pub(super) fn take_credit(&self) -> Option<(PcpUri, u64)> {
        self.early_credit
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Records that the requester has the outcome, which may not be on disk yet.
    pub(super) fn acknowledge(&self) {
        self.acknowledged.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_acknowledged(&self) -> bool {
        self.acknowledged.load(Ordering::SeqCst)
    }

    /// Waits until the turn is dropped.
    pub(super) async fn wait_ended(&self) {
        self.ended.cancelled().await;
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// The spool entry of the output, as soon as it exists.
    pub(super) fn entry(&self) -> Option<&SpoolEntry> {
        self.entry.get()
    }
}

impl TransactionGuard {
    /// Records that the parameters are no longer held.
    pub(super) fn release_bytes(&mut self) {
        self.transactions.table().bytes -= std::mem::take(&mut self.bytes);
    }
}

impl Drop for TransactionGuard {
    fn drop(&mut self) {
        self.release_bytes();
        self.transactions.table().active.remove(&self.active.id);
        self.active.ended.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> TransactionId {
        text.parse().unwrap()
    }

    fn transactions(max_actions: usize, max_bytes: usize) -> Arc<ActiveTransactions> {
        ActiveTransactions::new(TransactionLimits {
            max_actions,
            max_bytes,
        })
    }

    fn take(transactions: &Arc<ActiveTransactions>, name: &str, bytes: usize) -> TransactionGuard {
        match transactions.admit(&id(name), bytes).unwrap() {
            TransactionAdmission::Admitted(turn) => turn,
            TransactionAdmission::Duplicate => panic!("{name} is active"),
        }
    }

    #[test]
    fn an_id_is_active_until_its_turn_ends() {
        let transactions = transactions(9, 999);
        let turn = take(&transactions, "a", 1);
        assert!(matches!(
            transactions.admit(&id("a"), 1),
            Ok(TransactionAdmission::Duplicate)
        ));
        drop(turn);
        assert!(!transactions.is_active(&id("a")));
        take(&transactions, "a", 1);
    }

    #[test]
    fn the_limits_refuse_and_say_so() {
        let transactions = transactions(2, 100);
        let mut large = take(&transactions, "large", 500);
        assert_eq!(
            transactions.admit(&id("b"), 1).unwrap_err(),
            TransactionLimitError::Bytes(100)
        );
        large.release_bytes();
        let _b = take(&transactions, "b", 1);
        assert_eq!(
            transactions.admit(&id("c"), 1).unwrap_err(),
            TransactionLimitError::Actions(2)
        );
        drop(large);
        take(&transactions, "c", 1);
    }

    #[test]
    fn the_harder_stop_wins() {
        let transactions = transactions(1, 1);
        let turn = take(&transactions, "a", 0);
        turn.active.stop(true);
        turn.active.stop(false);
        assert_eq!(*turn.active.subscribe_stops().borrow(), StopRequest::Kill);
    }
}
