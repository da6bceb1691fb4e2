//! Changes that the store refuses permanently, for any reason (for example a value that it cannot
//! hold).
//!
//! Invariant: such a change is logged and dropped, and the action that follows from it does not
//! happen. Its run ends as errored, so that its job comes to an end and nothing behind it waits.

use store::{JobChange, JobRunChange, RunChange};

use super::ledger::{CommitFollowUp, RefusedChange};
use super::state::JobEngine;
use crate::events;
use crate::keys::RunKey;
use crate::rollout::add_failed_node;
use crate::state::RunState;
use crate::verdict::RunVerdict;

// === impl JobEngine ===

impl JobEngine {
    pub(super) fn handle_refused(&mut self, refused: RefusedChange) {
        let RefusedChange {
            change,
            after,
            rest,
            error,
        } = refused;
        self.ledger.put_back(rest);
        self.deps.metrics.refused_changes.inc();
        let source = std::error::Error::source(&error);
        let (job, certname) = match &change {
            JobRunChange::Run(change) => (change.job, change.certname.as_str()),
            JobRunChange::Details(change) => (change.job, change.certname.as_str()),
            JobRunChange::Job(change) => (change.job, ""),
            JobRunChange::Batch(change) => (change.job, ""),
            JobRunChange::Event(change) => (change.job, ""),
        };
        tracing::error!(%job, certname, %error, source, "the store refuses a change for good; the \
            change is dropped");
        match (after, change) {
            // Its request was not sent, and never will be.
            (CommitFollowUp::Marked(run) | CommitFollowUp::FellBack(run), _) => {
                self.give_up(run, &RunVerdict::Unmarked)
            }
            (CommitFollowUp::Ended { run, .. }, JobRunChange::Run(change)) => {
                self.record_unrecorded(run, change)
            }
            // The store refuses that, too: the run is errored in memory alone, and loaded again at
            // the next start.
            (CommitFollowUp::Ended { run, .. } | CommitFollowUp::Unrecorded(run), _) => {
                self.active_jobs.forget_transaction(run);
            }
            (CommitFollowUp::JobEnded(job), _) => {
                self.scheduler.remove(job);
                self.leases.release(job);
                self.active_jobs.remove(job);
            }
            (CommitFollowUp::LateLogged(late), _) => self.late_outcomes.forget(&late.transaction),
            // A caller that gets no answer may ask again.
            (CommitFollowUp::EventWritten(_) | CommitFollowUp::Stopped(..), _) => {}
        }
    }

    /// Records, in place of an outcome that cannot be written, that there was one and that it is
    /// lost; without any text of the node's.
    fn record_unrecorded(&mut self, key: RunKey, refused: RunChange) {
        let at_ms = self.deps.clock.now_ms();
        let Some(job) = self.active_jobs.jobs.get_mut(&key.job) else {
            return;
        };
        let certname = &job.runs[key.index].certname;
        let verdict = RunVerdict::Unrecorded;
        let message = verdict.message(certname);
        let state = verdict.state();
        let instead = RunChange {
            to_state: state.as_str().to_owned(),
            at_ms,
            result: Some(verdict.result(certname).to_string()),
            details: Some(events::message_details(&message)),
            sealed: None,
            event: Some(events::run_ended(
                job.kind, certname, state, &message, None, at_ms,
            )),
            ..refused
        };
        let was = RunState::parse(&refused.to_state).unwrap_or(RunState::Errored);
        if was == RunState::Finished {
            add_failed_node(&mut job.failed, certname);
            job.rollout.reclassify_as_failed(job.runs[key.index].batch);
        }
        if was != RunState::Errored {
            self.deps.metrics.runs_errored.inc();
        }
        if let Some((state, event)) = job.tally.reclassify_as_errored(was)
            && let Some(end) = self.ledger.job_end_mut(key.job)
        {
            // The job's end is decided, and is queued behind the run's.
            let event = events::job_ended(event, state, at_ms);
            let duration_ms = match &*end {
                JobRunChange::Job(decided) => decided.duration_ms,
                _ => None,
            };
            *end = JobRunChange::Job(JobChange {
                duration_ms,
                ..events::job_change(job.number, state, at_ms, Some(event))
            });
        }
        self.skip_dependents(key);
        self.ledger.put_back(vec![(
            JobRunChange::Run(instead),
            CommitFollowUp::Unrecorded(key),
        )]);
        self.advance(key.job);
    }
}
