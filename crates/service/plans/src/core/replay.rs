//! The part of the journal that is not replayed yet. Main type: [`JournalReplay`].
//!
//! Invariant: every step in the journal is requested again, and outcomes are delivered in the
//! recorded order.

use std::collections::{HashMap, VecDeque};

use store::JobNumber;

use crate::divergence::StepSummary;
use crate::step::{StepId, StepOutcome};

/// A step of the journal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedStep {
    pub(crate) id: StepId,
    pub(crate) kind: String,
    pub(crate) site: String,
    /// The part of the arguments that is shown.
    pub(crate) arguments: String,
    pub(crate) hash: String,
    pub(crate) began: i64,
    pub(crate) delivered: Option<i64>,
    /// True if the plan stopped waiting for it before an outcome arrived.
    pub(crate) dropped: bool,
    pub(crate) job: Option<JobNumber>,
    pub(crate) until_ms: Option<i64>,
    /// The outcome, if the journal contains it.
    pub(crate) outcome: Option<StepOutcome>,
    /// Size of the row, in bytes.
    pub(crate) bytes: usize,
}

#[derive(Debug)]
pub(super) struct JournalReplay {
    /// Steps that have not been requested again yet.
    recorded: HashMap<StepId, RecordedStep>,
    /// Deliveries that are to be repeated, in order.
    order: VecDeque<StepId>,
    last_place: i64,
    rows: usize,
    bytes: usize,
}

// === impl JournalReplay ===

impl JournalReplay {
    pub(super) fn new(journal: Vec<RecordedStep>) -> Self {
        let places = journal
            .iter()
            .flat_map(|row| [Some(row.began), row.delivered]);
        let last_place = places.flatten().max().unwrap_or(0);
        let mut deliveries: Vec<(i64, StepId)> = journal
            .iter()
            .filter(|row| !row.is_inline())
            .filter_map(|row| Some((row.delivered?, row.id.clone())))
            .collect();
        deliveries.sort_unstable();
        Self {
            rows: journal.len(),
            bytes: journal.iter().map(|row| row.bytes).sum(),
            last_place,
            order: deliveries.into_iter().map(|(_, id)| id).collect(),
            recorded: journal
                .into_iter()
                .map(|row| (row.id.clone(), row))
                .collect(),
        }
    }

    pub(super) fn last_place(&self) -> i64 {
        self.last_place
    }

    /// Returns the number of steps and of bytes of the journal.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.rows, self.bytes)
    }

    /// Removes and returns a recorded step; `None` if the journal has none of this id.
    pub(super) fn take(&mut self, id: &StepId) -> Option<RecordedStep> {
        self.recorded.remove(id)
    }

    /// Returns the step whose outcome is delivered next.
    pub(super) fn next(&self) -> Option<&StepId> {
        self.order.front()
    }

    pub(super) fn pass(&mut self) {
        self.order.pop_front();
    }

    pub(super) fn is_over(&self) -> bool {
        self.order.is_empty()
    }

    /// Returns the oldest recorded step that was not requested again.
    pub(super) fn next_unplayed(&self) -> Option<&RecordedStep> {
        self.recorded.values().min_by_key(|row| row.began)
    }

    pub(super) fn recorded(&self, id: &StepId) -> Option<&RecordedStep> {
        self.recorded.get(id)
    }
}

// === impl RecordedStep ===

impl RecordedStep {
    /// Returns true if the step was answered when it was requested, without a delivery.
    pub(crate) fn is_inline(&self) -> bool {
        self.delivered == Some(self.began)
    }

    pub(super) fn summarize(&self) -> StepSummary {
        StepSummary {
            kind: self.kind.clone(),
            site: self.site.clone(),
            arguments: self.arguments.clone(),
        }
    }
}
