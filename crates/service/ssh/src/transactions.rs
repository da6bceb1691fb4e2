//! Transactions of this process: [`SshTransactions`].
//!
//! Invariants: a transaction begins once; ended transactions are kept up to a limit, and the oldest
//! is removed first.

use std::collections::{HashMap, VecDeque};

use pxp::TransactionId;
use pxp::action::ActionResult;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::defaults::{ENDED_KEPT, ENDED_KEPT_BYTES, QUEUED};

#[derive(Debug, Default)]
pub(crate) struct SshTransactions {
    known: HashMap<TransactionId, TransactionProgress>,
    running: usize,
    /// Ended transactions with the size of their results, the oldest first.
    ended: VecDeque<(TransactionId, usize)>,
    ended_bytes: usize,
}

#[derive(Debug)]
enum TransactionProgress {
    Running(RunControl),
    Ended(Box<ActionResult>),
    /// Ended without a result; the engine has received the cause.
    EndedWithoutResult,
}

/// Handle to cancel a run and to grant credit.
#[derive(Clone, Debug)]
pub(crate) struct RunControl {
    pub(crate) cancel: CancellationToken,
    pub(crate) credit: watch::Sender<u64>,
}

/// Decision about a new run.
#[derive(Debug)]
pub(crate) enum RunAdmission {
    Now(RunControl),
    /// The transaction has begun already.
    AlreadyBegun,
    /// The limit of [`QUEUED`] runs is reached.
    Full,
}

/// State of a transaction for a status query.
#[derive(Debug)]
pub(crate) enum TransactionState {
    Unknown,
    Running,
    Ended(Box<ActionResult>),
}

impl SshTransactions {
    pub(crate) fn begin(&mut self, transaction: &TransactionId) -> RunAdmission {
        if self.known.contains_key(transaction) {
            return RunAdmission::AlreadyBegun;
        }
        if self.running >= QUEUED {
            return RunAdmission::Full;
        }
        self.running += 1;
        let reins = RunControl {
            cancel: CancellationToken::new(),
            credit: watch::Sender::new(0),
        };
        let known = TransactionProgress::Running(reins.clone());
        self.known.insert(transaction.clone(), known);
        RunAdmission::Now(reins)
    }

    pub(crate) fn end(&mut self, transaction: &TransactionId, result: Option<Box<ActionResult>>) {
        let size = result.as_deref().map_or(0, result_size);
        let known = result.map_or(
            TransactionProgress::EndedWithoutResult,
            TransactionProgress::Ended,
        );
        if let Some(TransactionProgress::Running(_)) = self.known.insert(transaction.clone(), known)
        {
            self.running -= 1;
        }
        self.ended.push_back((transaction.clone(), size));
        self.ended_bytes += size;
        while self.ended.len() > ENDED_KEPT || self.ended_bytes > ENDED_KEPT_BYTES {
            let Some((oldest, size)) = self.ended.pop_front() else {
                break;
            };
            self.known.remove(&oldest);
            self.ended_bytes -= size;
        }
    }

    pub(crate) fn state(&self, transaction: &TransactionId) -> TransactionState {
        match self.known.get(transaction) {
            None | Some(TransactionProgress::EndedWithoutResult) => TransactionState::Unknown,
            Some(TransactionProgress::Running(_)) => TransactionState::Running,
            Some(TransactionProgress::Ended(result)) => TransactionState::Ended(result.clone()),
        }
    }

    pub(crate) fn control(&self, transaction: &TransactionId) -> Option<&RunControl> {
        match self.known.get(transaction)? {
            TransactionProgress::Running(reins) => Some(reins),
            TransactionProgress::Ended(_) | TransactionProgress::EndedWithoutResult => None,
        }
    }
}

fn result_size(result: &ActionResult) -> usize {
    let texts = [
        &result.stdout,
        &result.stderr,
        &result.stdout_base64,
        &result.stderr_base64,
    ];
    texts.into_iter().flatten().map(String::len).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_begins_once_also_after_its_end() {
        let mut transactions = SshTransactions::default();
        let one = TransactionId::random();
        assert!(matches!(
            transactions.state(&one),
            TransactionState::Unknown
        ));
        assert!(matches!(transactions.begin(&one), RunAdmission::Now(_)));
        assert!(matches!(
            transactions.begin(&one),
            RunAdmission::AlreadyBegun
        ));
        assert!(matches!(
            transactions.state(&one),
            TransactionState::Running
        ));
        transactions.end(&one, Some(Box::default()));
        assert!(matches!(
            transactions.begin(&one),
            RunAdmission::AlreadyBegun
        ));
        assert!(matches!(
            transactions.state(&one),
            TransactionState::Ended(_)
        ));
    }

    #[test]
    fn the_oldest_results_are_forgotten_first() {
        let mut transactions = SshTransactions::default();
        let ids: Vec<_> = (0..3).map(|_| TransactionId::random()).collect();
        for id in &ids {
            transactions.begin(id);
            let result = ActionResult {
                stdout: Some("x".repeat(ENDED_KEPT_BYTES / 2)),
                ..ActionResult::default()
            };
            transactions.end(id, Some(Box::new(result)));
        }
        assert!(matches!(
            transactions.state(&ids[0]),
            TransactionState::Unknown
        ));
        assert!(matches!(
            transactions.state(&ids[2]),
            TransactionState::Ended(_)
        ));
        assert_eq!(transactions.running, 0);
    }
}
