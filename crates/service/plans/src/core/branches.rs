//! The branches of a plan: [`Branches`].
//!
//! Invariant: a branch's name depends only on which branch made it and on how many that one had made
//! before.

use std::collections::BTreeMap;

use crate::program::Ended;
use crate::step::{BranchId, StepId};

#[derive(Debug, Default)]
pub(super) struct Branches {
    all: BTreeMap<BranchId, Branch>,
    live: usize,
}

#[derive(Debug, Default)]
struct Branch {
    steps: u32,
    children: u32,
    waits: Option<Waits>,
    ended: Option<Ended>,
}

/// A branch that waits for others.
#[derive(Debug)]
struct Waits {
    on: Vec<BranchId>,
    timer: Option<StepId>,
}

/// A branch whose wait is over: how the others ended, and the timer that is not needed any more.
pub(super) type Satisfied = (BranchId, Vec<Option<Ended>>, Option<StepId>);

// === impl Branches ===

impl Branches {
    pub(super) fn root(&mut self) -> BranchId {
        let root = BranchId::root();
        self.all.insert(root.clone(), Branch::default());
        self.live += 1;
        root
    }

    /// Branches that have not ended.
    pub(super) fn live(&self) -> usize {
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
        self.all.insert(child.clone(), Branch::default());
        self.live += 1;
        child
    }

    pub(super) fn end(&mut self, branch: &BranchId, ended: Ended) {
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

    /// The results of the branches that have ended so far.
    pub(super) fn look(&self, branches: &[BranchId]) -> Vec<Option<Ended>> {
        let ended = |id| self.all.get(id).and_then(|branch| branch.ended.clone());
        branches.iter().map(ended).collect()
    }

    pub(super) fn have_ended(&self, branches: &[BranchId]) -> bool {
        branches.iter().all(|id| !self.is_live(id))
    }

    pub(super) fn wait(&mut self, branch: &BranchId, on: Vec<BranchId>, timer: Option<StepId>) {
        if let Some(branch) = self.all.get_mut(branch) {
            branch.waits = Some(Waits { on, timer });
        }
    }

    /// The timer of this wait has run out; gives how far the others are.
    pub(super) fn run_out(&mut self, branch: &BranchId) -> Option<Vec<Option<Ended>>> {
        let waits = self.all.get_mut(branch)?.waits.take()?;
        Some(self.look(&waits.on))
    }

    /// Takes out every wait that is over, in the order of the branches' names.
    pub(super) fn take_satisfied(&mut self) -> Vec<Satisfied> {
        let satisfied = |branch: &Branch| {
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
            if let Some(Waits { on, timer }) = waits {
                taken.push((id, self.look(&on), timer));
            }
        }
        taken
    }

    /// Those below one of these, and they themselves, that have not ended.
    pub(super) fn within(&self, branches: &[BranchId]) -> Vec<BranchId> {
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
