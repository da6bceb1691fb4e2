//! Stopping a job.
//!
//! Invariant: stopping is idempotent and truthful. Runs that wait for a slot, or for another
//! attempt to send a request of which nothing was sent, are skipped; runs in flight go on (gently)
//! or are cancelled (by force), and if the agent cannot be reached, the result states that the
//! action may still run.

use store::{JobNumber, JobRunChange};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::active_jobs::RunPhase;
use super::ledger::CommitFollowUp;
use super::state::JobEngine;
use super::timers::can_cancel;
use crate::events;
use crate::in_flight::CancelReason;
use crate::keys::{JobKey, RunKey};
use crate::state::JobState;
use crate::tally::StopSeverity;
use crate::verdict::RunVerdict;

// === impl JobEngine ===

impl JobEngine {
    pub(super) fn stop(&mut self, number: JobNumber, force: bool, reply: oneshot::Sender<bool>) {
        let at_ms = self.deps.clock.now_ms();
        let Some((key, job)) = self.active_jobs.by_number(number) else {
            // A caller that is gone needs no answer.
            let _ = reply.send(false);
            return;
        };
        if job.tally.open_runs() == 0 {
            // The job's end is on the way to the store.
            let _ = reply.send(false);
            return;
        }
        let first = job.tally.stop_severity() < StopSeverity::Gently;
        let news = job.tally.stop(if force {
            StopSeverity::ByForce
        } else {
            StopSeverity::Gently
        });
        if !news {
            // The first stop is committed or queued; either way it is not lost with this engine's
            // promise: the caller may ask again.
            let _ = reply.send(true);
            return;
        }
        if first {
            let event = events::job_stopping(at_ms);
            let change = events::job_change(number, JobState::Stopping, at_ms, Some(event));
            self.ledger.push(
                JobRunChange::Job(change),
                CommitFollowUp::Stopped(key, reply),
            );
        } else {
            let _ = reply.send(true);
        }
        for run in self.drain_waiting(key) {
            self.give_up(run, &RunVerdict::NotStarted);
        }
        if force {
            self.cancel_all_runs(key);
        }
    }

    pub(super) fn dispatched_runs(&self, key: JobKey) -> Vec<RunKey> {
        let Some(job) = self.active_jobs.jobs.get(&key) else {
            return Vec::new();
        };
        (0..job.runs.len())
            .filter(|index| matches!(job.runs[*index].phase, RunPhase::Dispatched(_)))
            .map(|index| RunKey { job: key, index })
            .collect()
    }

    fn cancel_all_runs(&mut self, key: JobKey) {
        let now = Instant::now();
        let mut outgoing = Vec::new();
        for run in self.dispatched_runs(key) {
            let presence = self
                .active_jobs
                .run(run)
                .and_then(|run| self.presence_of(run));
            if !presence.as_ref().is_some_and(can_cancel) {
                self.give_up(run, &RunVerdict::Stopped { told: false });
                continue;
            }
            let patience = self.deps.poll_settings;
            if let Some(flying) = self.active_jobs.dispatched_mut(run) {
                flying.flight.cancel(now, CancelReason::Stop, &patience);
            }
            outgoing.extend(self.build_cancel(run));
        }
        self.send(outgoing);
    }
}
