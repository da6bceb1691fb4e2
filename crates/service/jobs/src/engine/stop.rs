//! Stopping a job.
//!
//! Invariant: stopping is idempotent and truthful. Runs that wait for a slot, or for another
//! attempt to send a request of which nothing was sent, are skipped; runs in flight go on (gently)
//! or are cancelled (by force), and if the agent cannot be reached, the result states that the
//! action may still run.

use store::{Change, JobNumber};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::book::Phase;
use super::ledger::After;
use super::state::Engine;
use super::timers::may_cancel;
use crate::events;
use crate::flight::CancelReason;
use crate::keys::{JobKey, RunKey};
use crate::state::JobState;
use crate::tally::Stop;
use crate::verdict::Verdict;

// === impl Engine ===

impl Engine {
    pub(super) fn stop(&mut self, number: JobNumber, force: bool, reply: oneshot::Sender<bool>) {
        let at_ms = self.parts.clock.now_ms();
        let Some((key, job)) = self.book.by_number(number) else {
            // A caller that is gone needs no answer.
            let _ = reply.send(false);
            return;
        };
        if job.tally.open() == 0 {
            // The job's end is on the way to the store.
            let _ = reply.send(false);
            return;
        }
        let first = job.tally.stopping() < Stop::Gently;
        let news = job
            .tally
            .stop(if force { Stop::ByForce } else { Stop::Gently });
        if !news {
            // The first stop is committed or queued; either way it is not lost with this engine's
            // promise: the caller may ask again.
            let _ = reply.send(true);
            return;
        }
        if first {
            let event = events::stopping(at_ms);
            let change = events::job_change(number, JobState::Stopping, at_ms, Some(event));
            self.ledger
                .push(Change::Job(change), After::Stopped(key, reply));
        } else {
            let _ = reply.send(true);
        }
        for run in self.drain_waiting(key) {
            self.give_up(run, &Verdict::NotStarted);
        }
        if force {
            self.cancel_all(key);
        }
    }

    pub(super) fn flying(&self, key: JobKey) -> Vec<RunKey> {
        let Some(job) = self.book.jobs.get(&key) else {
            return Vec::new();
        };
        (0..job.runs.len())
            .filter(|index| matches!(job.runs[*index].phase, Phase::Flying(_)))
            .map(|index| RunKey { job: key, index })
            .collect()
    }

    fn cancel_all(&mut self, key: JobKey) {
        let now = Instant::now();
        let mut outgoing = Vec::new();
        for run in self.flying(key) {
            let presence = self.book.run(run).and_then(|run| self.presence_of(run));
            if !presence.as_ref().is_some_and(may_cancel) {
                self.give_up(run, &Verdict::Stopped { told: false });
                continue;
            }
            let patience = self.parts.patience;
            if let Some(flying) = self.book.flying(run) {
                flying.flight.cancel(now, CancelReason::Stop, &patience);
            }
            outgoing.extend(self.cancel(run));
        }
        self.send(outgoing);
    }
}
