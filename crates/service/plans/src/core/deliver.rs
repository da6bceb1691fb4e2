//! Outcomes on their way to the branches that wait for them: [`Pending`] is a step that was begun.
//!
//! Invariant: while the journal has deliveries left, their order applies; after that, outcomes are
//! delivered in the order of arrival.

use store::{PlanChange, PlanStepEnd};

use super::call::{key, state_of};
use super::replay::Recorded;
use super::{Core, Divergence};
use crate::program::Reply;
use crate::step::{Outcome, StepId, Work};

/// A step that was begun, and not delivered.
pub(super) struct Pending {
    awaits: Awaits,
    pub(super) outcome: Option<Outcome>,
    /// It was given up in the journal already.
    dropped: bool,
    /// The journal says when it is delivered.
    ordered: bool,
    /// The batch that its outcome goes with, where it must be written before it is seen.
    batch: Option<u64>,
}

/// The kind of outcome that a step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaits {
    Job,
    Time(i64),
    Person,
    Deed,
}

// === impl Pending ===

impl Pending {
    pub(super) fn new(awaits: Awaits) -> Self {
        Self {
            awaits,
            outcome: None,
            dropped: false,
            ordered: false,
            batch: None,
        }
    }

    pub(super) fn again(recorded: &Recorded, work: &Work) -> Self {
        let awaits = match work {
            Work::Sleep(_) => Awaits::Time(recorded.until_ms.unwrap_or(0)),
            Work::Ask(_) => Awaits::Person,
            Work::Do(_) => Awaits::Deed,
            Work::Run(_) | Work::Here(_) | Work::Tell(_) => Awaits::Job,
        };
        Self {
            outcome: recorded.outcome.clone(),
            dropped: recorded.dropped,
            ordered: recorded.delivered.is_some(),
            ..Self::new(awaits)
        }
    }

    /// Returns true if the outcome will be known without this plan in memory.
    pub(super) fn is_remembered(&self) -> bool {
        self.awaits != Awaits::Deed
    }

    /// The earliest end of the wait, where that may be long; `None`: at any time.
    pub(super) fn long_until_ms(&self) -> Option<i64> {
        match self.awaits {
            Awaits::Time(until_ms) => Some(until_ms),
            Awaits::Person => Some(i64::MAX),
            Awaits::Job | Awaits::Deed => None,
        }
    }

    /// Returns true if the outcome must be in the journal before it is delivered, as it is stored nowhere else.
    fn is_only_here(&self) -> bool {
        self.awaits == Awaits::Deed
    }
}

// === impl Core ===

impl Core {
    /// Takes the outcome of a step; ignores it if the step is not awaited.
    pub(crate) fn arrived(&mut self, id: &StepId, outcome: Outcome) {
        let Some(pending) = self.pending.get_mut(id) else {
            return;
        };
        if pending.outcome.is_some() || pending.dropped {
            return;
        }
        pending.outcome = Some(outcome);
        if !pending.ordered {
            self.arrived.push_back(id.clone());
        }
    }

    /// Delivers the next outcome, if there is one. `false`: there is not.
    pub(super) fn deliver(&mut self) -> bool {
        let Some(next) = self.replay.next().cloned() else {
            return self.deliver_live();
        };
        let Some(pending) = self.pending.get_mut(&next) else {
            return self.not_asked_for(&next);
        };
        let Some(outcome) = pending.outcome.take() else {
            return false;
        };
        self.pending.remove(&next);
        self.replay.pass();
        self.hand_over(&next, outcome);
        true
    }

    /// Everything runs that can, and the plan should have asked for this step.
    fn not_asked_for(&mut self, id: &StepId) -> bool {
        if let Some(recorded) = self.replay.recorded(id) {
            let expected = recorded.shown();
            let step = id.clone();
            let met = None;
            self.diverged(&Divergence {
                step,
                expected,
                met,
            });
        } else {
            // It was asked for and dropped; it cannot have been delivered then.
            self.replay.pass();
        }
        false
    }

    fn deliver_live(&mut self) -> bool {
        if let Some(left) = self.replay.left() {
            let id = left.id.clone();
            return self.not_asked_for(&id);
        }
        let Some(id) = self.arrived.front().cloned() else {
            return false;
        };
        let gathering = self.out.gathering();
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
            Some(batch) => Some(self.out.is_written(batch)),
            None => {
                pending.batch = Some(gathering);
                None
            }
        };
        if written.is_none() {
            self.place += 1;
            self.out.push(PlanChange::End(PlanStepEnd {
                key: key(&id),
                state: state_of(&outcome).to_owned(),
                delivered: Some(self.place),
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

    fn hand_over(&mut self, id: &StepId, outcome: Outcome) {
        // A sleep may be the timer of a wait.
        let reply = match self.branches.run_out(&id.branch) {
            Some(ended) => Reply::Ended(ended),
            None => Reply::Answer(outcome),
        };
        self.ready.push_back((id.branch.clone(), reply));
    }

    /// Drops the wait for this step.
    pub(super) fn drop_step(&mut self, id: &StepId) {
        let Some(pending) = self.pending.remove(id) else {
            return;
        };
        self.arrived.retain(|arrived| arrived != id);
        if pending.dropped || !self.out.forget(id) {
            return;
        }
        self.out.push(PlanChange::End(PlanStepEnd {
            key: key(id),
            state: "dropped".to_owned(),
            delivered: None,
            outcome: None,
            ended_ms: self.now_ms,
        }));
    }
}
