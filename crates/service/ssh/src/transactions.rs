//! What is known of the runs of this process: [`Transactions`].
//!
//! The rule: a transaction is begun once; what ended is remembered up to a bound, the oldest is
//! forgotten first.

use std::collections::{HashMap, VecDeque};

use pxp::TransactionId;
use pxp::action::ActionResult;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::defaults::{ENDED_KEPT, ENDED_KEPT_BYTES, QUEUED};

#[derive(Debug, Default)]
pub(crate) struct Transactions {
    known: HashMap<TransactionId, Known>,
    running: usize,
    /// With the bytes that they take, the oldest first.
    ended: VecDeque<(TransactionId, usize)>,
    ended_bytes: usize,
}

#[derive(Debug)]
enum Known {
    Running(Reins),
    Ended(Box<ActionResult>),
    /// It has no result; the engine was told why.
    Over,
}

/// How a run is led.
#[derive(Clone, Debug)]
pub(crate) struct Reins {
    pub(crate) cancel: CancellationToken,
    pub(crate) granted: watch::Sender<u64>,
}

/// Whether a run may begin.
#[derive(Debug)]
pub(crate) enum Begin {
    Now(Reins),
    /// It did already.
    Known,
    /// Too many wait.
    Full,
}

/// What is known of a run.
#[derive(Debug)]
pub(crate) enum State {
    Unknown,
    Running,
    Ended(Box<ActionResult>),
}

impl Transactions {
    pub(crate) fn begin(&mut self, transaction: &TransactionId) -> Begin {
        if self.known.contains_key(transaction) {
            return Begin::Known;
        }
        if self.running >= QUEUED {
            return Begin::Full;
        }
        self.running += 1;
        let reins = Reins {
            cancel: CancellationToken::new(),
            granted: watch::Sender::new(0),
        };
        let known = Known::Running(reins.clone());
        self.known.insert(transaction.clone(), known);
        Begin::Now(reins)
    }

    pub(crate) fn end(&mut self, transaction: &TransactionId, result: Option<Box<ActionResult>>) {
        let size = result.as_deref().map_or(0, size);
        let known = result.map_or(Known::Over, Known::Ended);
        if let Some(Known::Running(_)) = self.known.insert(transaction.clone(), known) {
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

    pub(crate) fn state(&self, transaction: &TransactionId) -> State {
        match self.known.get(transaction) {
            None | Some(Known::Over) => State::Unknown,
            Some(Known::Running(_)) => State::Running,
            Some(Known::Ended(result)) => State::Ended(result.clone()),
        }
    }

    pub(crate) fn reins(&self, transaction: &TransactionId) -> Option<&Reins> {
        match self.known.get(transaction)? {
            Known::Running(reins) => Some(reins),
            Known::Ended(_) | Known::Over => None,
        }
    }
}

fn size(result: &ActionResult) -> usize {
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
        let mut transactions = Transactions::default();
        let one = TransactionId::random();
        assert!(matches!(transactions.state(&one), State::Unknown));
        assert!(matches!(transactions.begin(&one), Begin::Now(_)));
        assert!(matches!(transactions.begin(&one), Begin::Known));
        assert!(matches!(transactions.state(&one), State::Running));
        transactions.end(&one, Some(Box::default()));
        assert!(matches!(transactions.begin(&one), Begin::Known));
        assert!(matches!(transactions.state(&one), State::Ended(_)));
    }

    #[test]
    fn the_oldest_results_are_forgotten_first() {
        let mut transactions = Transactions::default();
        let ids: Vec<_> = (0..3).map(|_| TransactionId::random()).collect();
        for id in &ids {
            transactions.begin(id);
            let result = ActionResult {
                stdout: Some("x".repeat(ENDED_KEPT_BYTES / 2)),
                ..ActionResult::default()
            };
            transactions.end(id, Some(Box::new(result)));
        }
        assert!(matches!(transactions.state(&ids[0]), State::Unknown));
        assert!(matches!(transactions.state(&ids[2]), State::Ended(_)));
        assert_eq!(transactions.running, 0);
    }
}
