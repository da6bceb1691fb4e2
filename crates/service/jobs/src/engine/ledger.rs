//! Decided changes that are not durable yet.
//!
//! [`ChangeLedger`] queues changes with the actions that follow their commit. Invariant: they leave it in
//! the order in which they were decided, and the action that follows a change comes after its
//! commit.

use std::collections::VecDeque;

use store::{ChangeResult, JobRunChange, StoreError};
use tokio::sync::oneshot;

use super::late_outcomes::LateOutcome;
use crate::defaults::COMMIT_CHANGES;
use crate::keys::{JobKey, RunKey};

/// The action that follows when a change is durable.
#[derive(Debug)]
pub(super) enum CommitFollowUp {
    /// Watchers of the job read the event.
    EventWritten(JobKey),
    /// The run's request is sent.
    Marked(RunKey),
    /// The task is sent in place of the request.
    FellBack(RunKey),
    /// The agent may forget the outcome.
    Ended {
        run: RunKey,
        acknowledge: bool,
        /// Runs that wait for this one start now.
        is_success: bool,
    },
    /// The store refused the run's outcome; the run is recorded as errored instead.
    Unrecorded(RunKey),
    /// The job is removed from the engine's memory.
    JobEnded(JobKey),
    /// The caller gets its answer.
    Stopped(JobKey, oneshot::Sender<bool>),
    /// The agent may forget the outcome that came too late.
    LateLogged(Box<LateOutcome>),
}

/// The changes that wait for a commit.
#[derive(Debug, Default)]
pub(super) struct ChangeLedger {
    entries: VecDeque<(JobRunChange, CommitFollowUp)>,
    bytes: usize,
}

/// A commit that is complete.
pub(super) struct CompletedCommit {
    pub(super) applied: Vec<(ChangeResult, CommitFollowUp)>,
    /// An earlier attempt may have been stored although its answer was lost, so that a change which
    /// was not applied may still be ours.
    pub(super) repeated: bool,
    /// Reason that the commit ended before everything was written.
    pub(super) halt: Option<CommitHalt>,
}

/// Reason that a commit was not completed.
pub(super) enum CommitHalt {
    /// The store accepts no more writes.
    Gone(StoreError),
    /// The store refuses one change.
    Refused(Box<RefusedChange>),
}

/// A change that the store refuses permanently, regardless of other changes.
pub(super) struct RefusedChange {
    pub(super) change: JobRunChange,
    pub(super) after: CommitFollowUp,
    /// The entries that were to follow it.
    pub(super) rest: Vec<(JobRunChange, CommitFollowUp)>,
    pub(super) error: StoreError,
}

// === impl ChangeLedger ===

impl ChangeLedger {
    pub(super) fn push(&mut self, change: JobRunChange, after: CommitFollowUp) {
        self.bytes += change_bytes(&change);
        self.entries.push_back((change, after));
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes the entries that the next commit writes.
    pub(super) fn take(&mut self) -> Vec<(JobRunChange, CommitFollowUp)> {
        let count = self.entries.len().min(COMMIT_CHANGES);
        let entries: Vec<_> = self.entries.drain(..count).collect();
        self.bytes -= entries
            .iter()
            .map(|(change, _)| change_bytes(change))
            .sum::<usize>();
        entries
    }

    /// Puts entries in front of all others, in their order.
    pub(super) fn put_back(&mut self, entries: Vec<(JobRunChange, CommitFollowUp)>) {
        for (change, after) in entries.into_iter().rev() {
            self.bytes += change_bytes(&change);
            self.entries.push_front((change, after));
        }
    }

    /// The end of a job that is not written yet.
    pub(super) fn job_end_mut(&mut self, job: JobKey) -> Option<&mut JobRunChange> {
        let is_end =
            |after: &CommitFollowUp| matches!(after, CommitFollowUp::JobEnded(key) if *key == job);
        let found = self.entries.iter_mut().find(|(_, after)| is_end(after));
        found.map(|(change, _)| change)
    }
}

fn change_bytes(change: &JobRunChange) -> usize {
    match change {
        JobRunChange::Run(run) => {
            let sealed = run.sealed.as_ref().map_or(0, Vec::len);
            sealed + run.result.as_ref().map_or(0, String::len)
        }
        _ => 0,
    }
}
