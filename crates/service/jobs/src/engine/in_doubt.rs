//! Jobs that may or may not be stored: the store was lost during their commit.
//!
//! Invariant: a command that was answered with an error never starts. So such a job is
//! [recorded](crate::withdrawals) as withdrawn before its caller is answered, holds no slot, and
//! when the store is back it is looked up and, if it is there, ended before anything of it is sent.
//! After a restart [`JobEngine::recover`] does the same.

use std::collections::{BTreeMap, VecDeque};

use pxp::TransactionId;
use store::{JobNumber, JobRunChange, StoreError};
use tokio::sync::oneshot;

use super::active_jobs::RunPhase;
use super::draft::JobDraft;
use super::ledger::CommitFollowUp;
use super::state::JobEngine;
use crate::defaults::{COMMIT_RETRY, DOUBTS};
use crate::events;
use crate::keys::{JobKey, RunKey};
use crate::state::JobState;
use crate::submit::JobSubmitError;
use crate::tally::StopSeverity;
use crate::verdict::RunVerdict;

/// A job that may be stored; its caller got the answer that it was not run.
pub(super) struct InDoubtJob {
    key: JobKey,
    /// Transaction id by which the job is looked up.
    transaction: TransactionId,
    draft: JobDraft,
}

/// The store's answer about the job.
pub(super) struct InDoubtLookup {
    job: InDoubtJob,
    number: Result<Option<JobNumber>, StoreError>,
}

/// Reason that no more jobs are accepted for now.
#[derive(Debug, thiserror::Error)]
#[error("the database was lost at the commits of {0} jobs, which must be looked up first")]
pub(super) struct TooManyInDoubt(usize);

// === impl JobEngine ===

impl JobEngine {
    /// Withdraws a job of which the store cannot determine if it was stored.
    pub(super) fn withdraw_in_doubt(
        &mut self,
        key: JobKey,
        draft: JobDraft,
        source: StoreError,
        reply: oneshot::Sender<Result<JobNumber, JobSubmitError>>,
    ) {
        let open = |run: &&super::active_jobs::ActiveRun| !matches!(run.phase, RunPhase::Settled);
        let Some(transaction) = draft
            .runs
            .iter()
            .find(open)
            .map(|run| run.transaction.clone())
        else {
            // No node was connected: nothing of it can start in any case.
            let never_starts = true;
            let _ = reply.send(Err(JobSubmitError::InDoubt {
                source,
                never_starts,
            }));
            return;
        };
        let withdrawals = self.deps.withdrawals.clone();
        self.withdrawing.spawn(async move {
            let never_starts = withdrawals.remember(&transaction).await;
            tracing::warn!(
                %transaction, never_starts,
                "the database was lost while it wrote a job; the job is withdrawn"
            );
            // A caller that is gone needs no answer.
            let _ = reply.send(Err(JobSubmitError::InDoubt {
                source,
                never_starts,
            }));
            InDoubtJob {
                key,
                transaction,
                draft,
            }
        });
    }

    /// The reason to refuse another job, if there is one: each job in doubt is kept in memory.
    pub(super) fn check_in_doubt_limit(&self) -> Option<TooManyInDoubt> {
        let doubts = self.withdrawing.len() + self.resolving.len();
        (doubts >= DOUBTS).then_some(TooManyInDoubt(doubts))
    }

    /// Queries the store until it answers, after the caller got its answer.
    pub(super) fn look_up_in_doubt(&mut self, doubt: InDoubtJob) {
        let store = self.deps.store.clone();
        self.resolving.spawn(async move {
            loop {
                match store.inserted_job(doubt.transaction.as_str()).await {
                    Ok(number) => {
                        let number = Ok(number);
                        return InDoubtLookup { job: doubt, number };
                    }
                    Err(error) if error.is_final() => {
                        let number = Err(error);
                        return InDoubtLookup { job: doubt, number };
                    }
                    Err(error) => {
                        tracing::debug!(%error, "a job in doubt cannot be looked up yet");
                        tokio::time::sleep(COMMIT_RETRY).await;
                    }
                }
            }
        });
    }

    pub(super) fn handle_in_doubt_lookup(&mut self, resolved: InDoubtLookup) {
        let InDoubtLookup { job: doubt, number } = resolved;
        match number {
            Ok(Some(number)) => self.end_withdrawn(doubt, number),
            Ok(None) => {
                tracing::info!(transaction = %doubt.transaction, "the job in doubt was not kept");
                self.deps.withdrawals.forget(&doubt.transaction);
            }
            // The next start resolves it.
            Err(error) => self.lost = Some(error),
        }
    }

    fn end_withdrawn(&mut self, doubt: InDoubtJob, number: JobNumber) {
        let InDoubtJob {
            key,
            transaction,
            draft,
        } = doubt;
        let mut job = draft.into_job(number, &self.deps.poll_settings);
        let mut open = Vec::new();
        for (index, run) in job.runs.iter_mut().enumerate() {
            if !matches!(run.phase, RunPhase::Settled) {
                // Also the marked runs: nothing was sent, and no slot is held.
                run.phase = RunPhase::Waiting;
                open.push(RunKey { job: key, index });
            }
        }
        job.waiting = VecDeque::new();
        job.later = BTreeMap::new();
        job.order = None;
        job.rollout.close();
        job.tally.stop(StopSeverity::Gently);
        self.active_jobs.insert(key, job);
        self.stop_withdrawn(key, number, transaction);
        for run in open {
            self.give_up(run, &RunVerdict::Withdrawn);
        }
    }

    /// Records that a withdrawn job stops, in front of the ends of its runs.
    pub(super) fn stop_withdrawn(
        &mut self,
        key: JobKey,
        number: JobNumber,
        transaction: TransactionId,
    ) {
        tracing::warn!(job = %number, "the job was kept although its command was answered with \
            an error; it is stopped, nothing of it was started");
        self.being_withdrawn.insert(key, transaction);
        let at_ms = self.deps.clock.now_ms();
        let event = events::job_stopping(at_ms);
        let change = events::job_change(number, JobState::Stopping, at_ms, Some(event));
        self.ledger
            .push(JobRunChange::Job(change), CommitFollowUp::EventWritten(key));
    }

    /// Forgets the withdrawal of a job whose end is durable.
    pub(super) fn forget_withdrawal(&mut self, key: JobKey) {
        if let Some(transaction) = self.being_withdrawn.remove(&key) {
            self.deps.withdrawals.forget(&transaction);
        }
    }
}
