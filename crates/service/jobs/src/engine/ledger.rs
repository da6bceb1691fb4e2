//! What is decided and not durable yet.
//!
//! [`Ledger`] queues changes with what is to follow their commit. The rule: they leave it in the
//! order in which they were decided, and what follows a change follows its commit.

use std::collections::VecDeque;

use store::{Applied, Change, StoreError};
use tokio::sync::oneshot;

use super::late_outcomes::Late;
use crate::defaults::COMMIT_CHANGES;
use crate::keys::{JobKey, RunKey};

/// What follows when a change is durable.
#[derive(Debug)]
pub(super) enum After {
    /// Watchers of the job read the event.
    Told(JobKey),
    /// The run's request is sent.
    Marked(RunKey),
    /// The task is sent in the place of the request.
    FellBack(RunKey),
    /// The agent may forget the outcome.
    Ended { run: RunKey, acknowledge: bool },
    /// The run's outcome was refused by the store; that it is errored stands instead.
    Unrecorded(RunKey),
    /// The job leaves the book.
    JobEnded(JobKey),
    /// A caller is answered.
    Stopped(JobKey, oneshot::Sender<bool>),
    /// The agent may forget the outcome that came too late.
    LateLogged(Box<Late>),
}

/// The changes that wait for a commit.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    entries: VecDeque<(Change, After)>,
    bytes: usize,
}

/// A commit that came to its end.
pub(super) struct Committed {
    pub(super) applied: Vec<(Applied, After)>,
    /// An earlier try may have been kept although its answer was lost, so that a change which was
    /// not applied may still be ours.
    pub(super) repeated: bool,
    /// What ended the work before all was written.
    pub(super) halt: Option<Halt>,
}

/// Why a commit was not brought to its end.
pub(super) enum Halt {
    /// The store takes nothing any more.
    Gone(StoreError),
    /// The store refuses a change.
    Refused(Box<Refused>),
}

/// A change that the store refuses by itself, for good.
pub(super) struct Refused {
    pub(super) change: Change,
    pub(super) after: After,
    /// What was to follow it.
    pub(super) rest: Vec<(Change, After)>,
    pub(super) error: StoreError,
}

// === impl Ledger ===

impl Ledger {
    pub(super) fn push(&mut self, change: Change, after: After) {
        self.bytes += weight(&change);
        self.entries.push_back((change, after));
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What the next commit writes.
    pub(super) fn take(&mut self) -> Vec<(Change, After)> {
        let count = self.entries.len().min(COMMIT_CHANGES);
        let entries: Vec<_> = self.entries.drain(..count).collect();
        self.bytes -= entries
            .iter()
            .map(|(change, _)| weight(change))
            .sum::<usize>();
        entries
    }

    /// Puts entries in front of all others, in their order.
    pub(super) fn put_back(&mut self, entries: Vec<(Change, After)>) {
        for (change, after) in entries.into_iter().rev() {
            self.bytes += weight(&change);
            self.entries.push_front((change, after));
        }
    }

    /// The end of a job that is not written yet.
    pub(super) fn job_end(&mut self, job: JobKey) -> Option<&mut Change> {
        let is_end = |after: &After| matches!(after, After::JobEnded(key) if *key == job);
        let found = self.entries.iter_mut().find(|(_, after)| is_end(after));
        found.map(|(change, _)| change)
    }
}

fn weight(change: &Change) -> usize {
    match change {
        Change::Run(run) => {
            let sealed = run.sealed.as_ref().map_or(0, Vec::len);
            sealed + run.result.as_ref().map_or(0, String::len)
        }
        _ => 0,
    }
}
