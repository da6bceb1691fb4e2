//! The output of a plan: [`Batch`]es of journal changes and of the effects that begin with them.
//!
//! Invariant: one batch is out at a time, so the journal never has a later change without the earlier
//! ones.

use std::sync::Arc;

use store::{JobNumber, NewPlanStep, PlanChange};

use super::Core;
use super::replay::Replay;
use crate::defaults::{BATCH_BYTES, BATCH_ROWS, JOURNAL_BYTES, JOURNAL_ROWS};
use crate::effects::{Deed, Order};
use crate::program::Ended;
use crate::step::StepId;

/// Changes to be committed together, and the effects that begin once they are.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) changes: Vec<PlanChange>,
    pub(crate) starts: Vec<(StepId, Start)>,
    /// Steps whose outcome is not awaited any more.
    pub(crate) drops: Vec<StepId>,
    /// The result of the plan, if the plan is over with this batch.
    pub(crate) end: Option<Ended>,
}

/// An effect that begins, or is waited for again.
pub(crate) enum Start {
    /// A job; its step is written in the transaction that creates it.
    Job(Box<NewPlanStep>, Box<Order>),
    /// A job that was created before.
    Await(JobNumber),
    /// Until then.
    Until(i64),
    /// The answer of a user.
    Answer,
    /// An effect on the machine of the server.
    Do(Arc<dyn Deed>),
}

/// The changes that are collected for the next batch.
#[derive(Default)]
pub(super) struct Outgoing {
    next: Batch,
    /// Steps that are waited for again.
    again: Vec<(StepId, Start)>,
    bytes: usize,
    /// One is out.
    flying: bool,
    /// The number of batches handed out.
    given: u64,
    /// Of the whole journal.
    rows: usize,
    journal_bytes: usize,
}

// === impl Core ===

impl Core {
    /// Returns the next batch, when every runnable branch has run and the last batch is written.
    pub(crate) fn take_batch(&mut self) -> Option<Batch> {
        if self.over || self.out.flying || !self.out.has_any(self.end.is_some()) {
            return None;
        }
        if !self.replay.is_over() && self.end.is_none() {
            return self.out.take_again();
        }
        let mut batch = std::mem::take(&mut self.out.next);
        batch.starts.append(&mut self.out.again);
        if let Some(end) = self.end.clone() {
            // The effects that were to begin now never do.
            batch.starts.clear();
            batch.end = Some(end);
            self.over = true;
        }
        self.out.bytes = 0;
        self.out.given += 1;
        self.out.flying = !batch.changes.is_empty() || batch.end.is_some() || batch.begins();
        Some(batch)
    }

    /// The last batch is written.
    pub(crate) fn committed(&mut self) {
        self.out.flying = false;
    }
}

// === impl Batch ===

impl Batch {
    /// Returns true if an effect begins with the batch, which the journal must record first.
    pub(crate) fn begins(&self) -> bool {
        let begins = |(_, start): &(StepId, Start)| matches!(start, Start::Job(..) | Start::Do(_));
        self.starts.iter().any(begins)
    }
}

// === impl Outgoing ===

impl Outgoing {
    pub(super) fn after(replay: &Replay) -> Self {
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

    pub(super) fn start(&mut self, id: StepId, start: Start) {
        if let Start::Job(step, _) = &start {
            self.rows += 1;
            self.journal_bytes += step_size(step);
        }
        self.next.starts.push((id, start));
    }

    /// A step of the journal is waited for again.
    pub(super) fn again(&mut self, id: StepId, start: Start) {
        self.again.push((id, start));
    }

    /// While the journal has deliveries left, nothing new begins: a job that the plan once asked for and
    /// gave up before it was made is asked for again, and will be given up again.
    fn take_again(&mut self) -> Option<Batch> {
        if self.again.is_empty() {
            return None;
        }
        let batch = Batch {
            starts: std::mem::take(&mut self.again),
            ..Batch::default()
        };
        self.given += 1;
        self.flying = batch.begins();
        Some(batch)
    }

    /// Drops the wait for this step. `false`: it was a job that was not handed out yet, and the
    /// journal never hears of it.
    pub(super) fn forget(&mut self, id: &StepId) -> bool {
        self.again.retain(|(start, _)| start != id);
        let starts = &mut self.next.starts;
        let Some(index) = starts.iter().position(|(start, _)| start == id) else {
            self.next.drops.push(id.clone());
            return true;
        };
        let (_, start) = starts.remove(index);
        !matches!(start, Start::Job(..))
    }

    /// The number of the batch that the next change goes into.
    pub(super) fn gathering(&self) -> u64 {
        self.given + 1
    }

    /// Returns true if that batch is written.
    pub(super) fn is_written(&self, batch: u64) -> bool {
        batch < self.given || (batch == self.given && !self.flying)
    }

    /// Returns true if the plan must stand still until a batch is written.
    pub(super) fn is_full(&self) -> bool {
        self.next.changes.len() >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    pub(super) fn is_idle(&self) -> bool {
        !self.flying && !self.has_any(false)
    }

    /// The reason why no more may be written, if there is one.
    pub(super) fn exhausted(&self) -> Option<(&'static str, usize)> {
        if self.rows >= JOURNAL_ROWS {
            return Some(("the plan has taken too many steps", JOURNAL_ROWS));
        }
        (self.journal_bytes >= JOURNAL_BYTES)
            .then_some(("the steps of the plan have too many bytes", JOURNAL_BYTES))
    }

    fn has_any(&self, ends: bool) -> bool {
        ends || !self.next.changes.is_empty()
            || !self.next.starts.is_empty()
            || !self.again.is_empty()
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
