//! Starts of batches, pauses between them, splayed starts, and failures that end a job.
//!
//! Invariant: decisions of [`Rollout`](crate::rollout::Rollout) are carried out in the order of the
//! ledger, so a batch is in the store as begun before a run of it is marked; and the end of a pause
//! is stored, so a restart of the server makes it no longer.

use std::sync::Arc;
use std::time::Duration;

use store::{BatchChange, EventChange, JobRunChange};
use tokio::time::Instant;

use super::active_jobs::RunPhase;
use super::ledger::CommitFollowUp;
use super::state::JobEngine;
use crate::events;
use crate::keys::{JobKey, RunKey};
use crate::rollout::{BatchCount, HaltReason, RolloutHalt, RolloutStep, SplayedStarts};
use crate::tally::StopSeverity;
use crate::verdict::RunVerdict;

// === impl JobEngine ===

impl JobEngine {
    /// Carries out the rollout's next steps after ends of runs, and after pauses.
    pub(super) fn advance(&mut self, key: JobKey) {
        while let Some(job) = self.active_jobs.jobs.get_mut(&key) {
            let before = job.rollout.current_batch();
            let now = Instant::now();
            let Some(step) = job.rollout.next_step(now) else {
                return;
            };
            match step {
                RolloutStep::Pause { until } => {
                    self.pause_rollout(key, before, until, until.duration_since(now));
                }
                RolloutStep::Begin { batch, after_pause } => {
                    if !after_pause {
                        self.record_batch_end(key, before);
                    }
                    self.begin_batch(key, batch);
                }
                RolloutStep::Finish => self.record_batch_end(key, before),
                RolloutStep::Halt(halt) => self.halt_rollout(key, halt),
            }
        }
    }

    /// Begins the batches whose pauses are over, and the splayed runs whose times have come.
    pub(super) fn start_timed(&mut self) {
        let now = Instant::now();
        while let Some((until, key)) = self.timed_starts.first().copied()
            && until <= now
        {
            self.timed_starts.pop_first();
            self.start_splayed(key);
            self.advance(key);
        }
    }

    /// Lets the splayed runs of a job whose times have come wait for a slot. Those that are left to other jobs end, so that
    /// a node is never queued twice, however late the jobs are.
    pub(super) fn start_splayed(&mut self, key: JobKey) {
        let Some(job) = self.active_jobs.jobs.get_mut(&key) else {
            return;
        };
        let Some(splayed) = &mut job.splayed else {
            return;
        };
        let due = splayed.take_due(Instant::now());
        let next = splayed.next_start();
        self.timed_starts.extend(next.map(|next| (next, key)));
        let mut left = Vec::new();
        let mut own = Vec::new();
        for index in due {
            let run = RunKey { job: key, index };
            match self.active_jobs.left_to(run) {
                Some(other) => left.push((run, RunVerdict::LeftToJob(other))),
                None => own.push(index),
            }
        }
        self.active_jobs.record_due(key, &own);
        let job = self.active_jobs.jobs.get_mut(&key);
        let count = job.map_or(0, |job| job.queue(own));
        self.scheduler.add_waiting(key, count);
        for (run, verdict) in left {
            self.give_up(run, &verdict);
        }
    }

    /// Forgets the time at which the job goes on.
    pub(super) fn forget_timed_start(&mut self, key: JobKey) {
        self.timed_starts.retain(|(_, job)| *job != key);
    }

    /// The verdict on a run of a stopping job that has not started.
    pub(super) fn not_started_verdict(&self, key: JobKey) -> RunVerdict {
        let job = self.active_jobs.jobs.get(&key);
        let halted = job.and_then(|job| match job.tally.stop_severity() {
            StopSeverity::ByFailures => job.halted.clone(),
            _ => None,
        });
        halted.map_or(RunVerdict::NotStarted, RunVerdict::TooManyFailures)
    }

    fn pause_rollout(&mut self, key: JobKey, ended: BatchCount, until: Instant, pause: Duration) {
        self.timed_starts.insert((until, key));
        let at_ms = self.deps.clock.now_ms();
        let Some(job) = self.active_jobs.jobs.get(&key) else {
            return;
        };
        let pause_ms = events::to_milliseconds(pause);
        let batches = job.rollout.batches();
        // By the clock that is never set: setting the machine's clock makes the pause neither
        // longer nor shorter.
        let next_batch_ms = self.deps.clock.steady_ms().saturating_add(pause_ms);
        let told_ms = at_ms.saturating_add(pause_ms);
        let change = BatchChange {
            job: job.number,
            batch: ended.batch,
            next_batch_ms: Some(next_batch_ms),
            event: Some(events::batch_finished(ended, batches, Some(told_ms), at_ms)),
        };
        self.ledger.push(
            JobRunChange::Batch(change),
            CommitFollowUp::EventWritten(key),
        );
    }

    /// Records the end of a batch; only for jobs with batches.
    fn record_batch_end(&mut self, key: JobKey, ended: BatchCount) {
        let at_ms = self.deps.clock.now_ms();
        let Some(job) = self
            .active_jobs
            .jobs
            .get(&key)
            .filter(|job| job.has_batches)
        else {
            return;
        };
        let change = EventChange {
            job: job.number,
            event: events::batch_finished(ended, job.rollout.batches(), None, at_ms),
        };
        self.ledger.push(
            JobRunChange::Event(change),
            CommitFollowUp::EventWritten(key),
        );
    }

    fn begin_batch(&mut self, key: JobKey, batch: u32) {
        let at_ms = self.deps.clock.now_ms();
        let Some(job) = self.active_jobs.jobs.get_mut(&key) else {
            return;
        };
        let begun = job.rollout.current_batch();
        let change = BatchChange {
            job: job.number,
            batch,
            next_batch_ms: None,
            event: Some(events::batch_started(begun, job.rollout.batches(), at_ms)),
        };
        self.ledger.push(
            JobRunChange::Batch(change),
            CommitFollowUp::EventWritten(key),
        );
        let runs = job.later.remove(&batch).unwrap_or_default();
        let count = job.queue(runs);
        self.scheduler.add_waiting(key, count);
    }

    /// Halts a job of which too many nodes failed: runs that have not started are skipped, and runs
    /// in flight may end.
    fn halt_rollout(&mut self, key: JobKey, halt: RolloutHalt) {
        let at_ms = self.deps.clock.now_ms();
        let Some(job) = self.active_jobs.jobs.get_mut(&key) else {
            return;
        };
        job.tally.stop(StopSeverity::ByFailures);
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
        self.ledger.push(
            JobRunChange::Event(change),
            CommitFollowUp::EventWritten(key),
        );
        for run in open {
            self.give_up(run, &RunVerdict::TooManyFailures(Arc::clone(&reason)));
        }
    }

    /// The runs of a job of which nothing was sent; none of them starts any more.
    pub(super) fn drain_waiting(&mut self, key: JobKey) -> Vec<RunKey> {
        let Some(job) = self.active_jobs.jobs.get_mut(&key) else {
            return Vec::new();
        };
        job.rollout.close();
        let later = std::mem::take(&mut job.later);
        let held = job.order.take().map(|mut order| order.take_held());
        let splayed = job.splayed.iter_mut().flat_map(SplayedStarts::take_all);
        let waiting = job.waiting.drain(..).chain(later.into_values().flatten());
        let waiting = waiting.chain(splayed);
        let waiting = waiting.chain(held.into_iter().flatten());
        // runs of later batches may have been skipped for the nodes that they depend on
        let is_open = |index: &usize| !matches!(job.runs[*index].phase, RunPhase::Settled);
        let waiting = waiting.filter(is_open);
        let mut open: Vec<RunKey> = waiting.map(|index| RunKey { job: key, index }).collect();
        self.forget_timed_start(key);
        self.scheduler.drop_waiting(key);
        open.extend(self.awaiting_nodes.take_by_job(key));
        open.extend(self.awaiting_leases.take_by_job(key));
        for run in self.dispatched_runs(key) {
            let flying = self.active_jobs.dispatched_mut(run);
            if flying.is_some_and(|flying| flying.flight.is_send_pending()) {
                open.push(run);
            }
        }
        open
    }
}
