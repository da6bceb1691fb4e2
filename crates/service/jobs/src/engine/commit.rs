//! Commits: from decided changes to durable ones.
//!
//! Invariant: one commit at a time, in the order of the [ledger](super::ledger), and no action that
//! follows from a change happens before its commit. A temporary failure (a full disk, a database
//! that is away) is retried until the commit works; a change that the store refuses permanently is
//! [handed back](Halt::Refused) alone, so that it holds up nothing behind it; and a store that
//! accepts no more writes ends the engine.

use std::collections::HashSet;
use std::sync::Arc;

use store::{Applied, Change, Store, StoreError};

use super::ledger::{After, Committed, Halt, Refused};
use super::outgoing::Outgoing;
use super::state::Engine;
use crate::defaults::{COMMIT_RETRY, SEND_BATCHES};
use crate::keys::{JobKey, RunKey};
use crate::kind::Kind;
use crate::metrics::{Metrics, count};

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
        let entries = self.ledger.take();
        let (store, metrics) = (self.parts.store.clone(), self.parts.metrics.clone());
        self.committing.spawn(write(store, metrics, entries));
    }

    /// Runs the actions that follow a durable commit.
    pub(super) fn committed(&mut self, committed: Committed) {
        let mut outgoing = Vec::new();
        let mut touched = HashSet::new();
        let mut over = Vec::new();
        for (applied, after) in committed.applied {
            match after {
                After::Unrecorded(run) => {
                    touched.insert(run.job);
                    self.book.forget_transaction(run);
                }
                After::Told(job) => _ = touched.insert(job),
                After::Marked(run) => {
                    touched.insert(run.job);
                    let ours = applied.changed || committed.repeated;
                    outgoing.extend(self.marked(run, ours));
                }
                After::FellBack(run) => {
                    touched.insert(run.job);
                    outgoing.extend(self.fell_back(run));
                }
                After::Ended { run, acknowledge } => {
                    touched.insert(run.job);
                    self.trace_run_ended(run);
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
            self.forget_withdrawal(key);
            self.trace_job_ended(key);
            self.puppet_ended(key);
            // Its watchers see the feed end and read what is left.
            self.book.remove(key);
        }
        self.send(outgoing);
        match committed.halt {
            None => {}
            Some(Halt::Gone(error)) => self.lost = Some(error),
            Some(Halt::Refused(refused)) => self.refused(*refused),
        }
    }

    /// Notifies those who wait for the end of a job of Puppet runs.
    fn puppet_ended(&self, key: JobKey) {
        let job = self.book.jobs.get(&key);
        if job.is_some_and(|job| job.kind == Kind::Puppet) {
            self.parts.puppet_over.send_modify(|over| *over += 1);
        }
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
}

/// Writes `entries`, all at once if the store accepts that.
async fn write(store: Store, metrics: Arc<Metrics>, entries: Vec<(Change, After)>) -> Committed {
    let (mut applied, mut left) = (Vec::with_capacity(entries.len()), entries);
    let (mut repeated, mut halt) = (false, None);
    let mut size = left.len();
    while !left.is_empty() {
        let changes = left[..size].iter().map(|(change, _)| change.clone());
        let error = match store.commit(changes.collect()).await {
            Ok(written) => {
                let afters = left.drain(..size).map(|(_, after)| after);
                applied.extend(written.into_iter().zip(afters));
                size = left.len();
                continue;
            }
            Err(error) => error,
        };
        match error {
            error if error.is_end() => {
                halt = Some(Halt::Gone(error));
                break;
            }
            // One of them is refused: halving finds it.
            error if is_final(&error) && size > 1 => size /= 2,
            error if is_final(&error) => {
                let (change, after) = left.remove(0);
                halt = Some(Halt::Refused(Box::new(Refused {
                    change,
                    after,
                    rest: left,
                    error,
                })));
                break;
            }
            passing => {
                repeated = true;
                count(&metrics.commit_failures);
                complain(&passing, size);
                tokio::time::sleep(COMMIT_RETRY).await;
            }
        }
    }
    Committed {
        applied,
        repeated,
        halt,
    }
}

/// True if the same change would be refused again.
fn is_final(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Refused(_) | StoreError::UnknownState { .. } | StoreError::NoState
    )
}

fn complain(error: &StoreError, changes: usize) {
    let source = std::error::Error::source(error);
    tracing::error!(%error, source, changes, "cannot commit; tried again until it works");
}
