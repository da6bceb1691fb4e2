//! Delivery of outcomes to the branches that wait for them. Main type: [`PendingStep`].
//!
//! Invariant: while the journal has deliveries left, they are repeated in its order; after that,
//! outcomes are delivered in the order of arrival.

use store::{PlanChange, PlanStepEnd};

use super::call::{state_of, step_key};
use super::replay::RecordedStep;
use super::{PlanCore, PlanDivergence};
use crate::program::BranchReply;
use crate::step::{StepId, StepOutcome, StepWork};

/// A step that was begun and not delivered.
pub(super) struct PendingStep {
    awaits: AwaitedOutcome,
    pub(super) outcome: Option<StepOutcome>,
    /// True if the journal records that the plan stopped waiting for it.
    dropped: bool,
    /// True if the journal determines when it is delivered.
    replayed: bool,
    /// The batch that contains its outcome, once written there.
    batch: Option<u64>,
}

/// The kind of outcome that a step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AwaitedOutcome {
    Job,
    Time(i64),
    UserAnswer,
    LocalEffect,
}

// === impl PendingStep ===

impl PendingStep {
    pub(super) fn new(awaits: AwaitedOutcome) -> Self {
        Self {
            awaits,
            outcome: None,
            dropped: false,
            replayed: false,
            batch: None,
        }
    }

    pub(super) fn resume_recorded(recorded: &RecordedStep, work: &StepWork) -> Self {
        let awaits = match work {
            StepWork::Sleep(_) => AwaitedOutcome::Time(recorded.until_ms.unwrap_or(0)),
            StepWork::Ask(_) => AwaitedOutcome::UserAnswer,
            StepWork::RunLocalEffect(_) => AwaitedOutcome::LocalEffect,
            StepWork::Run(_) | StepWork::Compute(_) | StepWork::RecordEvent(_) => {
                AwaitedOutcome::Job
            }
        };
        Self {
            outcome: recorded.outcome.clone(),
            dropped: recorded.dropped,
            replayed: recorded.delivered.is_some(),
            ..Self::new(awaits)
        }
    }

    /// Returns true if the outcome can be obtained without this plan in memory.
    pub(super) fn is_remembered(&self) -> bool {
        self.awaits != AwaitedOutcome::LocalEffect
    }

    /// The earliest end of a wait that may be long; `None` if it can end at any time.
    pub(super) fn long_until_ms(&self) -> Option<i64> {
        match self.awaits {
            AwaitedOutcome::Time(until_ms) => Some(until_ms),
            AwaitedOutcome::UserAnswer => Some(i64::MAX),
            AwaitedOutcome::Job | AwaitedOutcome::LocalEffect => None,
        }
    }

    /// Returns true if the outcome is stored nowhere else, so that it must be in the journal before
    /// it is delivered.
    fn is_only_here(&self) -> bool {
        self.awaits == AwaitedOutcome::LocalEffect
    }
}

// === impl PlanCore ===

impl PlanCore {
    /// Accepts the outcome of a step; ignores it if the step is not awaited.
    pub(crate) fn accept_outcome(&mut self, id: &StepId, outcome: StepOutcome) {
        let Some(pending) = self.pending.get_mut(id) else {
            return;
        };
        if pending.outcome.is_some() || pending.dropped {
            return;
        }
        pending.outcome = Some(outcome);
        if !pending.replayed {
            self.arrived.push_back(id.clone());
        }
    }

    /// Delivers the next outcome; returns false if there is none.
    pub(super) fn deliver(&mut self) -> bool {
        let Some(next) = self.replay.next().cloned() else {
            return self.deliver_live();
        };
        let Some(pending) = self.pending.get_mut(&next) else {
            return self.skip_unrequested(&next);
        };
        let Some(outcome) = pending.outcome.take() else {
            return false;
        };
        self.pending.remove(&next);
        self.replay.pass();
        self.hand_over(&next, outcome);
        true
    }

    /// Handles a recorded step that the plan did not request although no branch can run: reports
    /// the divergence.
    fn skip_unrequested(&mut self, id: &StepId) -> bool {
        if let Some(recorded) = self.replay.recorded(id) {
            let expected = recorded.summarize();
            let step = id.clone();
            let met = None;
            self.report_divergence(&PlanDivergence {
                step,
                expected,
                met,
            });
        } else {
            // The step was requested and cancelled, so it cannot have been delivered.
            self.replay.pass();
        }
        false
    }

    fn deliver_live(&mut self) -> bool {
        if let Some(left) = self.replay.next_unplayed() {
            let id = left.id.clone();
            return self.skip_unrequested(&id);
        }
        let Some(id) = self.arrived.front().cloned() else {
            return false;
        };
        let gathering = self.pending_batch.next_batch_number();
        let Some(pending) = self.pending.get_mut(&id) else {
            self.arrived.pop_front();
            return true;
        };
        let Some(outcome) = pending.outcome.clone() else {
            self.arrived.pop_front();
            return true;
        };
        let alone = pending.is_only_here();
        let written = match pending.batch {
            Some(batch) => Some(self.pending_batch.is_written(batch)),
            None => {
                pending.batch = Some(gathering);
                None
            }
        };
        if written.is_none() {
            self.last_place += 1;
            self.pending_batch.push(PlanChange::End(PlanStepEnd {
                key: step_key(&id),
                state: state_of(&outcome).to_owned(),
                delivered: Some(self.last_place),
                outcome: alone.then(|| outcome.value.to_string()),
                ended_ms: self.now_ms,
            }));
        }
        if alone && written != Some(true) {
            return false;
        }
        self.arrived.pop_front();
        self.pending.remove(&id);
        self.hand_over(&id, outcome);
        true
    }

    fn hand_over(&mut self, id: &StepId, outcome: StepOutcome) {
        // The sleep may be the timer of a wait.
        let reply = match self.branches.end_timed_wait(&id.branch) {
            Some(ended) => BranchReply::Ended(ended),
            None => BranchReply::Answer(outcome),
        };
        self.ready.push_back((id.branch.clone(), reply));
    }

    /// Drops the wait for this step.
    pub(super) fn drop_step(&mut self, id: &StepId) {
        let Some(pending) = self.pending.remove(id) else {
            return;
        };
        self.arrived.retain(|arrived| arrived != id);
        if pending.dropped || !self.pending_batch.forget(id) {
            return;
        }
        self.pending_batch.push(PlanChange::End(PlanStepEnd {
            key: step_key(id),
            state: "dropped".to_owned(),
            delivered: None,
            outcome: None,
            ended_ms: self.now_ms,
        }));
    }
}
