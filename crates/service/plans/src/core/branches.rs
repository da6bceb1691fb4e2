//! The branches of a plan. Main type: [`BranchTree`].
//!
//! Invariant: a branch's id depends only on its parent and on the number of branches that the
//! parent created before.

use std::collections::BTreeMap;

use crate::program::BranchResult;
use crate::step::{BranchId, StepId};

#[derive(Debug, Default)]
pub(super) struct BranchTree {
    all: BTreeMap<BranchId, BranchState>,
    live: usize,
}

#[derive(Debug, Default)]
struct BranchState {
    steps: u32,
    children: u32,
    waits: Option<BranchWait>,
    ended: Option<BranchResult>,
}

/// The wait of a branch for others.
#[derive(Debug)]
struct BranchWait {
    on: Vec<BranchId>,
    timer: Option<StepId>,
}

/// A branch whose wait has ended, the results of the others, and the timer that is no longer
/// needed.
pub(super) type SatisfiedBranchWait = (BranchId, Vec<Option<BranchResult>>, Option<StepId>);

// === impl BranchTree ===

impl BranchTree {
    pub(super) fn add_root(&mut self) -> BranchId {
        let root = BranchId::root();
        self.all.insert(root.clone(), BranchState::default());
        self.live += 1;
        root
    }

    /// Returns the number of branches that have not ended.
    pub(super) fn live_count(&self) -> usize {
        self.live
    }

    pub(super) fn next_step(&mut self, branch: &BranchId) -> StepId {
        let steps = &mut self.all.entry(branch.clone()).or_default().steps;
        *steps += 1;
        StepId {
            branch: branch.clone(),
            number: *steps,
        }
    }

    pub(super) fn spawn(&mut self, parent: &BranchId) -> BranchId {
        let children = &mut self.all.entry(parent.clone()).or_default().children;
        *children += 1;
        let child = parent.child(*children);
        self.all.insert(child.clone(), BranchState::default());
        self.live += 1;
        child
    }

    pub(super) fn end(&mut self, branch: &BranchId, ended: BranchResult) {
        if let Some(branch) = self.all.get_mut(branch)
            && branch.ended.is_none()
        {
            branch.ended = Some(ended);
            branch.waits = None;
            self.live -= 1;
        }
    }

    pub(super) fn is_live(&self, branch: &BranchId) -> bool {
        self.all
            .get(branch)
            .is_some_and(|branch| branch.ended.is_none())
    }

    /// Returns the results of the branches; `None` for those that have not ended.
    pub(super) fn results_of(&self, branches: &[BranchId]) -> Vec<Option<BranchResult>> {
        let ended = |id| self.all.get(id).and_then(|branch| branch.ended.clone());
        branches.iter().map(ended).collect()
    }

    pub(super) fn have_ended(&self, branches: &[BranchId]) -> bool {
        branches.iter().all(|id| !self.is_live(id))
    }

    pub(super) fn wait(&mut self, branch: &BranchId, on: Vec<BranchId>, timer: Option<StepId>) {
        if let Some(branch) = self.all.get_mut(branch) {
            branch.waits = Some(BranchWait { on, timer });
        }
    }

    /// Ends a wait whose timer has run out, and returns the results so far.
    pub(super) fn end_timed_wait(
        &mut self,
        branch: &BranchId,
    ) -> Option<Vec<Option<BranchResult>>> {
        let waits = self.all.get_mut(branch)?.waits.take()?;
        Some(self.results_of(&waits.on))
    }

    /// Removes and returns every wait that has ended, in the order of the branches' ids.
    pub(super) fn take_satisfied(&mut self) -> Vec<SatisfiedBranchWait> {
        let satisfied = |branch: &BranchState| {
            branch
                .waits
                .as_ref()
                .is_some_and(|waits| self.have_ended(&waits.on))
        };
        let ids: Vec<BranchId> = self
            .all
            .iter()
            .filter(|(_, branch)| satisfied(branch))
            .map(|(id, _)| id.clone())
            .collect();
        let mut taken = Vec::with_capacity(ids.len());
        for id in ids {
            let waits = self.all.get_mut(&id).and_then(|branch| branch.waits.take());
            if let Some(BranchWait { on, timer }) = waits {
                taken.push((id, self.results_of(&on), timer));
            }
        }
        taken
    }

    /// Returns the branches that have not ended among these and those below them.
    pub(super) fn branches_within(&self, branches: &[BranchId]) -> Vec<BranchId> {
        self.all
            .iter()
            .filter(|(_, branch)| branch.ended.is_none())
            .filter(|(id, _)| branches.iter().any(|top| id.is_within(top)))
            .map(|(id, _)| id.clone())
            .collect()
    }

    pub(super) fn stop_waiting(&mut self, branch: &BranchId) -> Option<StepId> {
        let waits = self.all.get_mut(branch)?.waits.take()?;
        waits.timer
    }
}
