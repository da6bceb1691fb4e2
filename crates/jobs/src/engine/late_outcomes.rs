//! What is remembered of outcomes that came too late.
//!
//! [`LateOutcomes`]; the rule: the memory is bounded, and what it forgets is only logged once more.

use std::collections::{HashSet, VecDeque};

use pcp::Certname;
use pxp::{Response, TransactionId};
use store::{RunRow, StoreError};

use crate::defaults::LATE_REMEMBERED;

/// A late outcome whose event is being committed.
#[derive(Debug)]
pub(super) struct Late {
    pub(super) certname: Certname,
    pub(super) transaction: TransactionId,
}

/// Transactions whose late outcome is logged already.
#[derive(Debug, Default)]
pub(super) struct LateOutcomes {
    logged: HashSet<TransactionId>,
    order: VecDeque<TransactionId>,
}

/// What the store says of a transaction.
pub(super) struct Looked {
    pub(super) certname: Certname,
    pub(super) response: Response,
    pub(super) row: Result<Option<RunRow>, StoreError>,
}

// === impl LateOutcomes ===

impl LateOutcomes {
    pub(super) fn contains(&self, transaction: &TransactionId) -> bool {
        self.logged.contains(transaction)
    }

    /// It could not be logged: the next time it comes, that is tried again.
    pub(super) fn forget(&mut self, transaction: &TransactionId) {
        self.logged.remove(transaction);
    }

    pub(super) fn remember(&mut self, transaction: TransactionId) {
        if self.order.len() >= LATE_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.logged.remove(&oldest);
        }
        self.order.push_back(transaction.clone());
        self.logged.insert(transaction);
    }
}
