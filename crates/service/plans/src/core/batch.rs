//! The output of a plan: [`JournalBatch`]es of journal changes and of the effects that start with
//! them.
//!
//! Invariant: at most one batch awaits its commit, so the journal never contains a later change
//! without the earlier ones.

use std::sync::Arc;

use jobs::JobSpec;
use store::{JobNumber, NewPlanStep, PlanChange};

use super::PlanCore;
use super::replay::JournalReplay;
use crate::defaults::{BATCH_BYTES, BATCH_ROWS, JOURNAL_BYTES, JOURNAL_ROWS};
use crate::effects::LocalEffect;
use crate::program::BranchResult;
use crate::step::StepId;

/// Changes that are committed together, and the effects that start after the commit.
#[derive(Default)]
pub(crate) struct JournalBatch {
    pub(crate) changes: Vec<PlanChange>,
    pub(crate) starts: Vec<(StepId, EffectStart)>,
    /// Steps whose outcome is no longer awaited.
    pub(crate) drops: Vec<StepId>,
    /// The result of the plan, if it ends with this batch.
    pub(crate) end: Option<BranchResult>,
}

/// An effect that starts, or whose outcome is awaited again.
pub(crate) enum EffectStart {
    /// Creates a job; its step is written in the same transaction.
    Job(Box<NewPlanStep>, Box<JobSpec>),
    /// Waits for a job that was created before.
    Await(JobNumber),
    /// Waits until this time on the steady clock, in milliseconds.
    Until(i64),
    /// Waits for the answer of a user.
    Answer,
    /// Performs an effect on the server.
    RunLocalEffect(Arc<dyn LocalEffect>),
}

/// Changes collected for the next batch.
#[derive(Default)]
pub(super) struct PendingBatch {
    next: JournalBatch,
    /// Steps of the journal whose outcome is awaited again.
    awaited_again: Vec<(StepId, EffectStart)>,
    bytes: usize,
    /// True while a batch awaits its commit.
    in_flight: bool,
    /// The number of batches handed out.
    batches_handed_out: u64,
    /// Number of steps in the whole journal, including this batch.
    rows: usize,
    journal_bytes: usize,
}

// === impl PlanCore ===

impl PlanCore {
    /// Returns the next batch, when no branch can run and the last batch is committed.
    pub(crate) fn take_batch(&mut self) -> Option<JournalBatch> {
        if self.end_handed_out
            || self.pending_batch.in_flight
            || !self.pending_batch.has_any(self.end.is_some())
        {
            return None;
        }
        if !self.replay.is_over() && self.end.is_none() {
            return self.pending_batch.take_again();
        }
        let mut batch = std::mem::take(&mut self.pending_batch.next);
        batch.starts.append(&mut self.pending_batch.awaited_again);
        if let Some(end) = self.end.clone() {
            // A plan that ends starts no more effects.
            batch.starts.clear();
            batch.end = Some(end);
            self.end_handed_out = true;
        }
        self.pending_batch.bytes = 0;
        self.pending_batch.batches_handed_out += 1;
        self.pending_batch.in_flight =
            !batch.changes.is_empty() || batch.end.is_some() || batch.has_effect_starts();
        Some(batch)
    }

    /// Notes that the last batch is committed.
    pub(crate) fn confirm_commit(&mut self) {
        self.pending_batch.in_flight = false;
    }
}

// === impl JournalBatch ===

impl JournalBatch {
    /// Returns true if an effect starts with the batch, so that the journal must record it first.
    pub(crate) fn has_effect_starts(&self) -> bool {
        let begins = |(_, start): &(StepId, EffectStart)| {
            matches!(start, EffectStart::Job(..) | EffectStart::RunLocalEffect(_))
        };
        self.starts.iter().any(begins)
    }
}

// === impl PendingBatch ===

impl PendingBatch {
    pub(super) fn resume_after(replay: &JournalReplay) -> Self {
        let (rows, journal_bytes) = replay.size();
        Self {
            rows,
            journal_bytes,
            ..Self::default()
        }
    }

    pub(super) fn push(&mut self, change: PlanChange) {
        let bytes = size(&change);
        self.bytes += bytes;
        self.journal_bytes += bytes;
        self.rows += usize::from(matches!(change, PlanChange::Begin(_)));
        self.next.changes.push(change);
    }

    pub(super) fn start(&mut self, id: StepId, start: EffectStart) {
        if let EffectStart::Job(step, _) = &start {
            self.rows += 1;
            self.journal_bytes += step_size(step);
        }
        self.next.starts.push((id, start));
    }

    /// Adds a step of the journal whose outcome is awaited again.
    pub(super) fn push_awaited(&mut self, id: StepId, start: EffectStart) {
        self.awaited_again.push((id, start));
    }

    /// Returns a batch that only resumes waits. While the journal has deliveries left, no job is
    /// created: the plan may have requested the job and cancelled it before it was created, and
    /// will cancel it again.
    fn take_again(&mut self) -> Option<JournalBatch> {
        if self.awaited_again.is_empty() {
            return None;
        }
        let batch = JournalBatch {
            starts: std::mem::take(&mut self.awaited_again),
            ..JournalBatch::default()
        };
        self.batches_handed_out += 1;
        self.in_flight = batch.has_effect_starts();
        Some(batch)
    }

    /// Drops the wait for this step. Returns false if the step was a job that was not handed out
    /// yet; the journal then never contains it.
    pub(super) fn forget(&mut self, id: &StepId) -> bool {
        self.awaited_again.retain(|(start, _)| start != id);
        let starts = &mut self.next.starts;
        let Some(index) = starts.iter().position(|(start, _)| start == id) else {
            self.next.drops.push(id.clone());
            return true;
        };
        let (_, start) = starts.remove(index);
        !matches!(start, EffectStart::Job(..))
    }

    /// The number of the batch that contains the next change.
    pub(super) fn next_batch_number(&self) -> u64 {
        self.batches_handed_out + 1
    }

    /// Returns true if that batch is committed.
    pub(super) fn is_written(&self, batch: u64) -> bool {
        batch < self.batches_handed_out || (batch == self.batches_handed_out && !self.in_flight)
    }

    /// Returns true if the plan must wait for a commit before it continues.
    pub(super) fn is_full(&self) -> bool {
        self.next.changes.len() >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    pub(super) fn is_idle(&self) -> bool {
        !self.in_flight && !self.has_any(false)
    }

    /// Returns the exceeded limit of the journal, if any.
    pub(super) fn exceeded_limit(&self) -> Option<(&'static str, usize)> {
        if self.rows >= JOURNAL_ROWS {
            return Some(("the plan has taken too many steps", JOURNAL_ROWS));
        }
        (self.journal_bytes >= JOURNAL_BYTES)
            .then_some(("the steps of the plan have too many bytes", JOURNAL_BYTES))
    }

    fn has_any(&self, ends: bool) -> bool {
        ends || !self.next.changes.is_empty()
            || !self.next.starts.is_empty()
            || !self.awaited_again.is_empty()
            || !self.next.drops.is_empty()
    }
}

fn size(change: &PlanChange) -> usize {
    match change {
        PlanChange::Begin(step) => step_size(step),
        PlanChange::End(end) => end.outcome.as_ref().map_or(0, String::len),
        PlanChange::Event(event) => event.details.len() + event.message.len(),
    }
}

fn step_size(step: &NewPlanStep) -> usize {
    step.site.len() + step.arguments.len() + step.outcome.as_ref().map_or(0, String::len)
}
