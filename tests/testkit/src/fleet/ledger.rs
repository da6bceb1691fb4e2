//! Executions of actions by node. Main type: [`Ledger`].

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pcp::Certname;
use pxp::TransactionId;

/// Counts the executions of every transaction on every node.
#[derive(Debug, Default)]
pub struct Ledger {
    runs: Mutex<HashMap<(Certname, TransactionId), u32>>,
}

// === impl Ledger ===

impl Ledger {
    pub(crate) fn ran(&self, certname: &Certname, transaction: &TransactionId) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        *runs
            .entry((certname.clone(), transaction.clone()))
            .or_default() += 1;
    }

    /// Number of different transactions that were executed.
    pub fn transactions(&self) -> usize {
        self.runs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// Transactions that were executed more than once; there must be none.
    pub fn repeated(&self) -> Vec<(Certname, TransactionId, u32)> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.iter()
            .filter(|(_, times)| **times > 1)
            .map(|((certname, transaction), times)| (certname.clone(), transaction.clone(), *times))
            .collect()
    }

    /// Number of executions of a transaction on a node.
    pub fn times(&self, certname: &Certname, transaction: &TransactionId) -> u32 {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.get(&(certname.clone(), transaction.clone()))
            .copied()
            .unwrap_or(0)
    }
}
