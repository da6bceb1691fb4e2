//! Commits: from decided changes to durable ones.
//!
//! Invariant: one commit at a time, in the order of the [ledger](super::ledger), and no action that
//! follows from a change happens before its commit. A temporary failure (a full disk, a database
//! that is away) is retried until the commit works; a change that the store refuses permanently is
//! [handed back](Halt::RefusedChange) alone, so that it holds up nothing behind it; and a store that
//! accepts no more writes ends the engine.

use std::collections::HashSet;
use std::sync::Arc;

use store::{ChangeResult, JobRunChange, Store, StoreError};

use super::ledger::{CommitFollowUp, CommitHalt, CompletedCommit, RefusedChange};
use super::outgoing::OutgoingMessage;
use super::state::JobEngine;
use crate::defaults::{COMMIT_RETRY, SEND_BATCHES};
use crate::keys::{JobKey, RunKey};
use crate::kind::JobKind;
use crate::metrics::JobMetrics;

// === impl JobEngine ===

impl JobEngine {
    /// Starts the next commit, unless one is under way.
    pub(super) fn flush(&mut self) {
        if self.ledger.len() == 0
            || !self.committing.is_empty()
            || self.sending.len() >= SEND_BATCHES
        {
            return;
        }
        let entries = self.ledger.take();
        let (store, metrics) = (self.deps.store.clone(), self.deps.metrics.clone());
        self.committing
            .spawn(write_changes(store, metrics, entries));
    }

    /// Runs the actions that follow a durable commit.
    pub(super) fn handle_committed(&mut self, committed: CompletedCommit) {
        let mut outgoing = Vec::new();
        let mut touched = HashSet::new();
        let mut over = Vec::new();
        for (applied, after) in committed.applied {
            match after {
                CommitFollowUp::Unrecorded(run) => {
                    touched.insert(run.job);
                    self.active_jobs.forget_transaction(run);
                }
                CommitFollowUp::EventWritten(job) => _ = touched.insert(job),
                CommitFollowUp::Marked(run) => {
                    touched.insert(run.job);
                    let ours = applied.changed || committed.repeated;
                    outgoing.extend(self.handle_marked(run, ours));
                }
                CommitFollowUp::FellBack(run) => {
                    touched.insert(run.job);
                    outgoing.extend(self.build_task_request(run));
                }
                CommitFollowUp::Ended {
                    run,
                    acknowledge,
                    is_success,
                } => {
                    touched.insert(run.job);
                    self.trace_run_ended(run);
                    let is_recorded = applied.changed || committed.repeated;
                    if is_success {
                        self.follow_success(run, is_recorded);
                    }
                    outgoing.extend(self.handle_run_ended(run, acknowledge, &applied));
                }
                CommitFollowUp::JobEnded(job) => {
                    touched.insert(job);
                    over.push(job);
                }
                CommitFollowUp::Stopped(job, reply) => {
                    touched.insert(job);
                    // A caller that is gone needs no answer.
                    let _ = reply.send(true);
                }
                CommitFollowUp::LateLogged(late) => outgoing.extend(self.handle_late_logged(*late)),
            }
        }
        for job in touched
            .iter()
            .filter_map(|key| self.active_jobs.jobs.get(key))
        {
            job.commits.send_modify(|commits| *commits += 1);
        }
        for key in over {
            self.scheduler.remove(key);
            self.forget_withdrawal(key);
            self.trace_job_ended(key);
            self.notify_puppet_end(key);
            self.leases.release(key);
            // Its watchers see the feed end and read what is left.
            self.active_jobs.remove(key);
        }
        self.send(outgoing);
        match committed.halt {
            None => {}
            Some(CommitHalt::Gone(error)) => self.lost = Some(error),
            Some(CommitHalt::Refused(refused)) => self.handle_refused(*refused),
        }
    }

    /// Notifies those who wait for the end of a job of Puppet runs.
    fn notify_puppet_end(&self, key: JobKey) {
        let job = self.active_jobs.jobs.get(&key);
        if job.is_some_and(|job| job.kind == JobKind::Puppet) {
            self.deps.puppet_ends.send_modify(|over| *over += 1);
        }
    }

    fn handle_run_ended(
        &mut self,
        key: RunKey,
        acknowledge: bool,
        applied: &ChangeResult,
    ) -> Option<OutgoingMessage> {
        if !applied.changed {
            let run = self.active_jobs.run(key);
            tracing::warn!(
                ?run,
                "the store had another end of this run already; that one stays"
            );
        }
        let acknowledgement = acknowledge.then(|| self.run_acknowledgement(key)).flatten();
        self.active_jobs.forget_transaction(key);
        acknowledgement
    }
}

/// Writes `entries`, all at once if the store accepts that.
async fn write_changes(
    store: Store,
    metrics: Arc<JobMetrics>,
    entries: Vec<(JobRunChange, CommitFollowUp)>,
) -> CompletedCommit {
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
            error if error.is_final() => {
                halt = Some(CommitHalt::Gone(error));
                break;
            }
            // One of them is refused: halving finds it.
            error if is_final(&error) && size > 1 => size /= 2,
            error if is_final(&error) => {
                let (change, after) = left.remove(0);
                halt = Some(CommitHalt::Refused(Box::new(RefusedChange {
                    change,
                    after,
                    rest: left,
                    error,
                })));
                break;
            }
            passing => {
                repeated = true;
                metrics.commit_failures.inc();
                log_commit_failure(&passing, size);
                tokio::time::sleep(COMMIT_RETRY).await;
            }
        }
    }
    CompletedCommit {
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

fn log_commit_failure(error: &StoreError, changes: usize) {
    let source = std::error::Error::source(error);
    tracing::error!(%error, source, changes, "cannot commit; tried again until it works");
}
