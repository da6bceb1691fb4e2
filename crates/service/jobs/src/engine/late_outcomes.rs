//! Memory of outcomes that came too late.
//!
//! Invariants of [`LateOutcomes`]: only durable outcomes count as logged; the memory is bounded,
//! and a forgotten outcome is only logged once more.

use std::collections::{HashSet, VecDeque};

use pcp::Certname;
use pxp::TransactionId;
use serde_json::value::RawValue;
use store::{RunRow, StoreError};

use crate::defaults::LATE_REMEMBERED;

/// A late outcome whose event is being committed.
#[derive(Debug)]
pub(super) struct LateOutcome {
    pub(super) certname: Certname,
    pub(super) transaction: TransactionId,
}

/// An agent's report on a transaction at its end.
pub(super) enum FinalReport {
    Result(Box<RawValue>),
    Error(String),
}

/// Transactions with a late outcome.
#[derive(Debug, Default)]
pub(super) struct LateOutcomes {
    /// Transactions whose event is decided and not durable yet; as many as the ledger holds.
    being_logged: HashSet<TransactionId>,
    logged: HashSet<TransactionId>,
    order: VecDeque<TransactionId>,
}

/// The store's answer about a transaction.
pub(super) struct OutcomeLookup {
    pub(super) certname: Certname,
    pub(super) transaction: TransactionId,
    pub(super) report: FinalReport,
    pub(super) row: Result<Option<RunRow>, StoreError>,
}

// === impl LateOutcomes ===

impl LateOutcomes {
    /// True if the transaction's event is durable.
    pub(super) fn is_logged(&self, transaction: &TransactionId) -> bool {
        self.logged.contains(transaction)
    }

    /// Begins to log the transaction's event. `false`: that is under way already.
    pub(super) fn begin(&mut self, transaction: &TransactionId) -> bool {
        self.being_logged.insert(transaction.clone())
    }

    /// Forgets a transaction that could not be logged, so that the next report of it is logged.
    pub(super) fn forget(&mut self, transaction: &TransactionId) {
        self.being_logged.remove(transaction);
    }

    /// Records that the transaction's event is durable.
    pub(super) fn remember(&mut self, transaction: TransactionId) {
        self.being_logged.remove(&transaction);
        if self.order.len() >= LATE_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.logged.remove(&oldest);
        }
        self.order.push_back(transaction.clone());
        self.logged.insert(transaction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_durable_counts_as_logged() {
        let mut late = LateOutcomes::default();
        let transaction = TransactionId::random();
        assert!(late.begin(&transaction));
        assert!(!late.begin(&transaction), "once is enough");
        assert!(!late.is_logged(&transaction));
        late.forget(&transaction);
        assert!(late.begin(&transaction), "the store refused it: once more");
        late.remember(transaction.clone());
        assert!(late.is_logged(&transaction));
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut late = LateOutcomes::default();
        let first = TransactionId::random();
        late.remember(first.clone());
        for _ in 0..LATE_REMEMBERED {
            late.remember(TransactionId::random());
        }
        assert!(!late.is_logged(&first));
        assert_eq!(late.logged.len(), LATE_REMEMBERED);
        assert!(late.being_logged.is_empty());
    }
}
