//! Changes that the store refuses permanently, for any reason (for example a value that it cannot
//! hold).
//!
//! Invariant: such a change is logged and dropped, and the action that follows from it does not
//! happen. Its run ends as errored, so that its job comes to an end and nothing behind it waits.

use store::{Change, JobChange, RunChange};

use super::ledger::{After, Refused};
use super::state::Engine;
use crate::events;
use crate::keys::RunKey;
use crate::metrics::count;
use crate::rollout::remember;
use crate::state::RunState;
use crate::verdict::Verdict;

// === impl Engine ===

impl Engine {
    pub(super) fn refused(&mut self, refused: Refused) {
        let Refused {
            change,
            after,
            rest,
            error,
        } = refused;
        self.ledger.put_back(rest);
        count(&self.parts.metrics.refused_changes);
        let source = std::error::Error::source(&error);
        let (job, certname) = match &change {
            Change::Run(change) => (change.job, change.certname.as_str()),
            Change::Details(change) => (change.job, change.certname.as_str()),
            Change::Job(change) => (change.job, ""),
            Change::Batch(change) => (change.job, ""),
            Change::Event(change) => (change.job, ""),
        };
        tracing::error!(%job, certname, %error, source, "the store refuses a change for good; the \
            change is dropped");
        match (after, change) {
            // Its request was not sent, and never will be.
            (After::Marked(run) | After::FellBack(run), _) => self.give_up(run, &Verdict::Unmarked),
            (After::Ended { run, .. }, Change::Run(change)) => self.unrecorded(run, change),
            // The store refuses that, too: the run is errored in memory alone, and loaded again at
            // the next start.
            (After::Ended { run, .. } | After::Unrecorded(run), _) => {
                self.book.forget_transaction(run);
            }
            (After::JobEnded(job), _) => {
                self.scheduler.remove(job);
                self.book.remove(job);
            }
            (After::LateLogged(late), _) => self.late.forget(&late.transaction),
            // A caller that gets no answer may ask again.
            (After::Told(_) | After::Stopped(..), _) => {}
        }
    }

    /// Records, in place of an outcome that cannot be written, that there was one and that it is
    /// lost; without any text of the node's.
    fn unrecorded(&mut self, key: RunKey, refused: RunChange) {
        let at_ms = self.parts.clock.now_ms();
        let Some(job) = self.book.jobs.get_mut(&key.job) else {
            return;
        };
        let certname = &job.runs[key.index].certname;
        let verdict = Verdict::Unrecorded;
        let message = verdict.message(certname);
        let state = verdict.state();
        let instead = RunChange {
            to_state: state.as_str().to_owned(),
            at_ms,
            result: Some(verdict.result(certname).to_string()),
            details: Some(events::message_details(&message)),
            sealed: None,
            event: Some(events::ended(
                job.kind, certname, state, &message, None, at_ms,
            )),
            ..refused
        };
        let was = RunState::parse(&refused.to_state).unwrap_or(RunState::Errored);
        if was == RunState::Finished {
            remember(&mut job.failed, certname);
            job.rollout.failed_after_all(job.runs[key.index].batch);
        }
        if was != RunState::Errored {
            count(&self.parts.metrics.runs_errored);
        }
        if let Some((state, event)) = job.tally.run_errored_after_all(was)
            && let Some(end) = self.ledger.job_end(key.job)
        {
            // The job's end is decided, and is queued behind the run's.
            let event = events::job_ended(event, state, at_ms);
            let duration_ms = match &*end {
                Change::Job(decided) => decided.duration_ms,
                _ => None,
            };
            *end = Change::Job(JobChange {
                duration_ms,
                ..events::job_change(job.number, state, at_ms, Some(event))
            });
        }
        self.ledger
            .put_back(vec![(Change::Run(instead), After::Unrecorded(key))]);
        self.advance(key.job);
    }
}
