//! From decided to durable.
//!
//! [`Ledger`] queues changes with what is to follow their commit. The rule: one commit at a time,
//! in the order of the queue; one that fails is tried again until it succeeds or the engine ends,
//! and nothing that follows from it happens before.

use std::collections::{HashSet, VecDeque};

use store::{Applied, Change};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::deliver::Outgoing;
use super::late::Late;
use super::{Engine, JobKey, RunKey};
use crate::defaults::{COMMIT_CHANGES, COMMIT_RETRY, SEND_BATCHES, SHUTDOWN_GRACE};
use crate::metrics::count;

/// What follows when a change is durable.
#[derive(Debug)]
pub(super) enum After {
    /// Watchers of the job read the event.
    Told(JobKey),
    /// The run's request is sent.
    Marked(RunKey),
    /// The agent may forget the outcome.
    Ended { run: RunKey, acknowledge: bool },
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

/// A commit that succeeded, or was given up because the engine ends.
pub(super) struct Committed {
    applied: Vec<(Applied, After)>,
    /// An earlier try may have been kept although its answer was lost, so that a change which was
    /// not applied may still be ours.
    repeated: bool,
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

    fn take(&mut self) -> (Vec<Change>, Vec<After>) {
        let count = self.entries.len().min(COMMIT_CHANGES);
        let (changes, afters): (Vec<Change>, Vec<After>) = self.entries.drain(..count).unzip();
        self.bytes -= changes.iter().map(weight).sum::<usize>();
        (changes, afters)
    }
}

fn weight(change: &Change) -> usize {
    match change {
        Change::Run(run) => run.result.as_ref().map_or(0, String::len),
        _ => 0,
    }
}

// === impl Engine ===

impl Engine {
    /// Starts the next commit, unless one is under way.
    pub(super) fn flush(&mut self) {
        if self.ledger.len() == 0
            || !self.committing.is_empty()
            || self.sending.len() >= SEND_BATCHES
        {
            return;
        }
        let (changes, afters) = self.ledger.take();
        let (store, metrics) = (self.parts.store.clone(), self.parts.metrics.clone());
        self.committing.spawn(async move {
            let mut repeated = false;
            loop {
                match store.commit(changes.clone()).await {
                    Ok(applied) => {
                        let applied = applied.into_iter().zip(afters).collect();
                        return Committed { applied, repeated };
                    }
                    Err(error) => {
                        repeated = true;
                        count(&metrics.commit_failures);
                        let changes = changes.len();
                        tracing::error!(%error, changes, "cannot commit; tried again until it works");
                        tokio::time::sleep(COMMIT_RETRY).await;
                    }
                }
            }
        });
    }

    /// A commit is durable: what was to follow, follows.
    pub(super) fn committed(&mut self, committed: Committed) {
        let mut outgoing = Vec::new();
        let mut touched = HashSet::new();
        let mut over = Vec::new();
        for (applied, after) in committed.applied {
            match after {
                After::Told(job) => _ = touched.insert(job),
                After::Marked(run) => {
                    touched.insert(run.job);
                    let ours = applied.changed || committed.repeated;
                    outgoing.extend(self.marked(run, ours));
                }
                After::Ended { run, acknowledge } => {
                    touched.insert(run.job);
                    outgoing.extend(self.ended(run, acknowledge, &applied));
                }
                After::JobEnded(job) => {
                    touched.insert(job);
                    over.push(job);
                }
                After::Stopped(job, reply) => {
                    touched.insert(job);
                    // A caller that is gone needs no answer.
                    let _ = reply.send(true);
                }
                After::LateLogged(late) => outgoing.extend(self.late_logged(*late)),
            }
        }
        for job in touched.iter().filter_map(|key| self.book.jobs.get(key)) {
            job.commits.send_modify(|commits| *commits += 1);
        }
        for key in over {
            self.scheduler.remove(key);
            // Its watchers see the feed end and read what is left.
            self.book.remove(key);
        }
        self.send(outgoing);
    }

    fn ended(&mut self, key: RunKey, acknowledge: bool, applied: &Applied) -> Option<Outgoing> {
        if !applied.changed {
            let run = self.book.run(key);
            tracing::warn!(
                ?run,
                "the store had another end of this run already; that one stays"
            );
        }
        let acknowledgement = acknowledge.then(|| self.acknowledgement(key)).flatten();
        self.book.forget_transaction(key);
        acknowledgement
    }

    /// At the end: what is decided is still written, and what is marked is sent, for a bounded
    /// time. Nothing new is started.
    pub(super) async fn drain(mut self) {
        let deadline = Instant::now() + SHUTDOWN_GRACE;
        loop {
            self.flush();
            if self.committing.is_empty() && self.inserting.is_empty() && self.sending.is_empty() {
                return;
            }
            tokio::select! {
                Some(done) = self.sending.join_next() => self.delivered(super::finished(done)),
                Some(done) = self.committing.join_next() => self.committed(super::finished(done)),
                Some(done) = self.inserting.join_next() => self.inserted(super::finished(done)),
                () = tokio::time::sleep_until(deadline) => {
                    let changes = self.ledger.len();
                    tracing::warn!(changes, "ended before everything was written; agents are asked \
                        at the next start");
                    return;
                }
            }
        }
    }
}
