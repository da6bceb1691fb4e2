//! Batches of a job's nodes, and the times at which they may start: the part of a rollout without
//! I/O.
//!
//! [`Rollout`] counts the runs of each batch and determines the next step from each end.
//! Invariants: a batch begins only when every run of the one before has ended and its pause is
//! over; with more failures than allowed nothing begins any more; and a job without `max_failures`
//! goes no further when nodes of a batch failed and none succeeded.

mod halt_reason;
mod splayed_starts;

use std::time::Duration;

use api_types::rollout::{Portion, RolloutOptions};
use tokio::time::Instant;

pub(crate) use self::halt_reason::{HaltReason, add_failed_node};
pub(crate) use self::splayed_starts::SplayedStarts;
use crate::state::RunState;

/// The batches of one job.
#[derive(Debug)]
pub struct Rollout {
    batches: Vec<RolloutBatch>,
    /// Index of the batch that was started last.
    current: usize,
    pause: Duration,
    nodes: usize,
    /// Number or share of nodes that may fail; `None`: any number, but not all of a batch that were not skipped.
    max_failures: Option<Portion>,
    failures: usize,
    stage: RolloutStage,
}

#[derive(Clone, Copy, Debug, Default)]
struct RolloutBatch {
    size: usize,
    open: usize,
    failed: usize,
    finished: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RolloutStage {
    /// The runs of the current batch may start.
    Batch,
    /// The current batch has ended, and the next one starts at `until`.
    Pause { until: Instant },
    /// Nothing begins any more.
    Over,
}

/// A step of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RolloutStep {
    /// The current batch has ended, and the next one waits until `until`.
    Pause { until: Instant },
    /// This batch begins, the first being 1. `after_pause`: the end of the previous batch was a
    /// step of its own.
    Begin { batch: u32, after_pause: bool },
    /// The last batch has ended.
    Finish,
    /// Too many nodes failed: no other node starts.
    Halt(RolloutHalt),
}

/// The failures that end a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolloutHalt {
    pub failures: usize,
    /// The number of failures allowed; `None`: there is no limit, but no node of this batch
    /// succeeded.
    pub allowed: Option<usize>,
    /// Number of the batch in which the limit was exceeded.
    pub batch: u32,
}

/// Counts of one batch: its number from 1, its nodes, and the failed ones among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchCount {
    pub batch: u32,
    pub nodes: usize,
    pub failed: usize,
}

// === impl Rollout ===

impl Rollout {
    /// The rollout of a new job on this many nodes.
    pub fn new(options: &RolloutOptions, nodes: usize) -> Self {
        let sizes = match &options.batch {
            Some(sizes) => sizes.of(nodes),
            None => vec![nodes],
        };
        let batch = |size| RolloutBatch {
            size,
            open: size,
            failed: 0,
            finished: 0,
        };
        Self {
            batches: sizes.into_iter().map(batch).collect(),
            current: 0,
            pause: Duration::from_secs(options.pause_between_batches.unwrap_or_default()),
            nodes,
            max_failures: options.max_failures,
            failures: 0,
            stage: RolloutStage::Batch,
        }
    }

    /// Continues where the previous server process was: in this batch, or in the pause after it, of
    /// which this much is left.
    pub fn resume(&mut self, batch: u32, pause_left: Option<Duration>, now: Instant) {
        let last = self.batches.len().saturating_sub(1);
        self.current = batch_index(batch).min(last);
        if let Some(left) = pause_left {
            // A clock that was set back makes no pause longer.
            let until = now + left.min(self.pause);
            self.stage = RolloutStage::Pause { until };
        }
    }

    /// Number of batches of the job.
    pub fn batches(&self) -> u32 {
        to_batch_number(self.batches.len())
    }

    /// Number of each node's batch, in the order of the nodes.
    pub fn batch_numbers(&self) -> impl Iterator<Item = u32> {
        let numbered = self.batches.iter().enumerate();
        numbered
            .flat_map(|(index, batch)| std::iter::repeat_n(to_batch_number(index + 1), batch.size))
    }

    /// Records that a run of this batch ended in `state`.
    pub fn record_run_end(&mut self, batch: u32, state: RunState) {
        self.restore_run_ends(batch, state, 1);
    }

    /// Records that this many runs of the batch had ended in `state` before.
    pub fn restore_run_ends(&mut self, batch: u32, state: RunState, count: usize) {
        let failed = if is_failure(state) { count } else { 0 };
        self.failures += failed;
        if let Some(batch) = self.batches.get_mut(batch_index(batch)) {
            batch.open = batch.open.saturating_sub(count);
            batch.failed += failed;
            if state == RunState::Finished {
                batch.finished += count;
            }
        }
    }

    /// Records that a run of this batch that counts as finished failed after all.
    pub(crate) fn reclassify_as_failed(&mut self, batch: u32) {
        self.failures += 1;
        if let Some(batch) = self.batches.get_mut(batch_index(batch)) {
            batch.failed += 1;
            batch.finished = batch.finished.saturating_sub(1);
        }
    }

    /// True if more nodes have failed than allowed.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.allowed_failures()
            .is_some_and(|allowed| self.failures > allowed)
    }

    /// The option `max_failures` as given.
    pub(crate) fn max_failures(&self) -> Option<Portion> {
        self.max_failures
    }

    /// Number of nodes of the job.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes
    }

    /// The end of the pause that the job is in.
    pub(crate) fn pause_end(&self) -> Option<Instant> {
        match self.stage {
            RolloutStage::Pause { until } => Some(until),
            RolloutStage::Batch | RolloutStage::Over => None,
        }
    }

    fn allowed_failures(&self) -> Option<usize> {
        self.max_failures.map(|portion| portion.of(self.nodes))
    }

    /// Closes the rollout, since the job was stopped: nothing begins any more.
    pub fn close(&mut self) {
        self.stage = RolloutStage::Over;
    }

    /// Number and counts of the current batch.
    pub fn current_batch(&self) -> BatchCount {
        let batch = self.batches.get(self.current).copied().unwrap_or_default();
        BatchCount {
            batch: to_batch_number(self.current + 1),
            nodes: batch.size,
            failed: batch.failed,
        }
    }

    /// The next step, to be requested after every change and when a pause is over; each is returned
    /// once.
    pub fn next_step(&mut self, now: Instant) -> Option<RolloutStep> {
        match self.stage {
            RolloutStage::Over => None,
            _ if self.is_exceeded() => Some(self.halt()),
            RolloutStage::Pause { until } if now >= until => Some(self.start_batch(true)),
            RolloutStage::Pause { .. } => None,
            RolloutStage::Batch => self.end_batch(now),
        }
    }

    fn end_batch(&mut self, now: Instant) -> Option<RolloutStep> {
        let batch = self.batches.get(self.current)?;
        if batch.open > 0 {
            return None;
        }
        if self.current + 1 >= self.batches.len() {
            self.stage = RolloutStage::Over;
            return Some(RolloutStep::Finish);
        }
        if self.max_failures.is_none() && batch.failed > 0 && batch.finished == 0 {
            return Some(self.halt());
        }
        if self.pause.is_zero() {
            return Some(self.start_batch(false));
        }
        let until = now + self.pause;
        self.stage = RolloutStage::Pause { until };
        Some(RolloutStep::Pause { until })
    }

    fn start_batch(&mut self, after_pause: bool) -> RolloutStep {
        self.current += 1;
        self.stage = RolloutStage::Batch;
        RolloutStep::Begin {
            batch: to_batch_number(self.current + 1),
            after_pause,
        }
    }

    fn halt(&mut self) -> RolloutStep {
        self.stage = RolloutStage::Over;
        RolloutStep::Halt(RolloutHalt {
            failures: self.failures,
            allowed: self.allowed_failures(),
            batch: to_batch_number(self.current + 1),
        })
    }
}

/// True for states that count as failures; nodes that were skipped on purpose do not.
pub(crate) fn is_failure(state: RunState) -> bool {
    matches!(state, RunState::Failed | RunState::Errored)
}

fn batch_index(batch: u32) -> usize {
    usize::try_from(batch)
        .unwrap_or(usize::MAX)
        .saturating_sub(1)
}

fn to_batch_number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
