//! Starts of batches, pauses between them, and failures that end a job.
//!
//! Invariant: decisions of [`Rollout`](crate::rollout::Rollout) are carried out in the order of the
//! ledger, so a batch is in the store as begun before a run of it is marked; and the end of a pause
//! is stored, so a restart of the server makes it no longer.

use std::sync::Arc;
use std::time::Duration;

use store::{BatchChange, Change, EventChange};
use tokio::time::Instant;

use super::ledger::After;
use super::state::Engine;
use crate::events;
use crate::keys::{JobKey, RunKey};
use crate::rollout::{BatchCount, Halt, HaltReason, RolloutStep};
use crate::tally::Stop;
use crate::verdict::Verdict;

// === impl Engine ===

impl Engine {
    /// Carries out the rollout's next steps after ends of runs, and after pauses.
    pub(super) fn advance(&mut self, key: JobKey) {
        while let Some(job) = self.book.jobs.get_mut(&key) {
            let before = job.rollout.current();
            let now = Instant::now();
            let Some(step) = job.rollout.next_step(now) else {
                return;
            };
            match step {
                RolloutStep::Pause { until } => {
                    self.pause(key, before, until, until.duration_since(now));
                }
                RolloutStep::Begin { batch, after_pause } => {
                    if !after_pause {
                        self.tell_batch_end(key, before);
                    }
                    self.begin_batch(key, batch);
                }
                RolloutStep::Finish => self.tell_batch_end(key, before),
                RolloutStep::Halt(halt) => self.halt(key, halt),
            }
        }
    }

    /// Begins the batches whose pauses are over.
    pub(super) fn end_pauses(&mut self) {
        let now = Instant::now();
        while let Some((until, key)) = self.pauses.first().copied()
            && until <= now
        {
            self.pauses.pop_first();
            self.advance(key);
        }
    }

    /// Forgets the job's pause.
    pub(super) fn forget_pause(&mut self, key: JobKey) {
        self.pauses.retain(|(_, job)| *job != key);
    }

    /// The verdict on a run of a stopping job that has not started.
    pub(super) fn not_started(&self, key: JobKey) -> Verdict {
        let job = self.book.jobs.get(&key);
        let halted = job.and_then(|job| match job.tally.stopping() {
            Stop::ByFailures => job.halted.clone(),
            _ => None,
        });
        halted.map_or(Verdict::NotStarted, Verdict::TooManyFailures)
    }

    fn pause(&mut self, key: JobKey, ended: BatchCount, until: Instant, pause: Duration) {
        self.pauses.insert((until, key));
        let at_ms = self.parts.clock.now_ms();
        let Some(job) = self.book.jobs.get(&key) else {
            return;
        };
        let pause_ms = events::milliseconds(pause);
        let batches = job.rollout.batches();
        // By the clock that is never set: setting the machine's clock makes the pause neither
        // longer nor shorter.
        let next_batch_ms = self.parts.clock.steady_ms().saturating_add(pause_ms);
        let told_ms = at_ms.saturating_add(pause_ms);
        let change = BatchChange {
            job: job.number,
            batch: ended.batch,
            next_batch_ms: Some(next_batch_ms),
            event: Some(events::batch_finished(ended, batches, Some(told_ms), at_ms)),
        };
        self.ledger.push(Change::Batch(change), After::Told(key));
    }

    /// Records the end of a batch; only for jobs with batches.
    fn tell_batch_end(&mut self, key: JobKey, ended: BatchCount) {
        let at_ms = self.parts.clock.now_ms();
        let Some(job) = self.book.jobs.get(&key).filter(|job| job.has_batches) else {
            return;
        };
        let change = EventChange {
            job: job.number,
            event: events::batch_finished(ended, job.rollout.batches(), None, at_ms),
        };
        self.ledger.push(Change::Event(change), After::Told(key));
    }

    fn begin_batch(&mut self, key: JobKey, batch: u32) {
        let at_ms = self.parts.clock.now_ms();
        let Some(job) = self.book.jobs.get_mut(&key) else {
            return;
        };
        let begun = job.rollout.current();
        let change = BatchChange {
            job: job.number,
            batch,
            next_batch_ms: None,
            event: Some(events::batch_started(begun, job.rollout.batches(), at_ms)),
        };
        self.ledger.push(Change::Batch(change), After::Told(key));
        let runs = job.later.remove(&batch).unwrap_or_default();
        let count = runs.len();
        job.waiting.extend(runs);
        self.scheduler.add_waiting(key, count);
    }

    /// Halts a job of which too many nodes failed: runs that have not started are skipped, and runs
    /// in flight may end.
    fn halt(&mut self, key: JobKey, halt: Halt) {
        let at_ms = self.parts.clock.now_ms();
        let Some(job) = self.book.jobs.get_mut(&key) else {
            return;
        };
        job.tally.stop(Stop::ByFailures);
        let reason = Arc::new(HaltReason {
            halt,
            max_failures: job.rollout.max_failures(),
            nodes: job.rollout.nodes(),
            failed: job.failed.clone(),
        });
        job.halted = Some(Arc::clone(&reason));
        let number = job.number;
        let open = self.drain_waiting(key);
        if open.is_empty() {
            return;
        }
        let event = events::rollout_halted(&reason, open.len(), at_ms);
        let change = EventChange { job: number, event };
        self.ledger.push(Change::Event(change), After::Told(key));
        for run in open {
            self.give_up(run, &Verdict::TooManyFailures(Arc::clone(&reason)));
        }
    }

    /// The runs of a job of which nothing was sent; none of them starts any more.
    pub(super) fn drain_waiting(&mut self, key: JobKey) -> Vec<RunKey> {
        let Some(job) = self.book.jobs.get_mut(&key) else {
            return Vec::new();
        };
        job.rollout.close();
        let later = std::mem::take(&mut job.later);
        let waiting = job.waiting.drain(..).chain(later.into_values().flatten());
        let mut open: Vec<RunKey> = waiting.map(|index| RunKey { job: key, index }).collect();
        self.forget_pause(key);
        self.scheduler.drop_waiting(key);
        open.extend(self.parked.of_job(key));
        for run in self.flying(key) {
            let flying = self.book.flying(run);
            if flying.is_some_and(|flying| flying.flight.waits_to_be_sent()) {
                open.push(run);
            }
        }
        open
    }
}
