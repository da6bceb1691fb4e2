//! The state of a preview, of one branch and of all: [`PreviewBranch`] and [`PreviewTally`].

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use pcore::Value;

use crate::objects::{PreviewStepNumbers, steps_in_all};

/// The state of one branch of a preview.
pub(crate) struct PreviewBranch {
    pub(crate) kind: plans::PlanPreviewMode,
    /// The results on which the control flow has depended so far.
    decided: RefCell<PreviewStepNumbers>,
    /// The unknown arguments of the plan function that is being called.
    pub(super) unknown_arguments: RefCell<UnknownArguments>,
}

/// The unknown arguments of a plan function.
#[derive(Default)]
pub(super) struct UnknownArguments {
    pub(super) steps: PreviewStepNumbers,
    /// Names of the task parameters with unknown values.
    pub(super) names: BTreeSet<String>,
    /// True if even the set of parameters is unknown.
    pub(super) all: bool,
}

/// Counters and decisions that all branches of a preview share.
#[derive(Default)]
pub(crate) struct PreviewTally {
    pub(super) effects: Cell<u32>,
    pub(super) sent: Cell<u32>,
    pub(super) depending: Cell<u32>,
    pub(super) maybe: Cell<u32>,
    pub(super) decisions: Cell<u32>,
    /// The results on which the control flow of any branch has depended.
    pub(super) decided: RefCell<PreviewStepNumbers>,
}

impl PreviewBranch {
    /// Creates the state of a branch whose start depended on `decided`.
    pub(crate) fn new(kind: plans::PlanPreviewMode, decided: PreviewStepNumbers) -> Self {
        Self {
            kind,
            decided: RefCell::new(decided),
            unknown_arguments: RefCell::default(),
        }
    }

    pub(crate) fn decided(&self) -> PreviewStepNumbers {
        self.decided.borrow().clone()
    }

    /// Marks all following effects of this branch as possibly depending on these results.
    pub(crate) fn add_deciding(&self, steps: &PreviewStepNumbers) {
        self.decided.borrow_mut().extend(steps);
    }

    /// Adds an argument of the plan function that is being called.
    pub(crate) fn add_given(&self, value: &Value) {
        self.unknown_arguments.borrow_mut().add(value);
    }
}

impl UnknownArguments {
    pub(super) fn of(arguments: &[Value]) -> Self {
        let mut given = Self::default();
        arguments.iter().for_each(|it| given.add(it));
        given
    }

    fn add(&mut self, value: &Value) {
        self.steps.extend(steps_in_all([value]));
        self.all |= value.is_unknown();
        let entries = value.as_hash().into_iter().flat_map(|hash| hash.iter());
        let unknown = entries.filter(|(_, value)| value.has_unknown());
        self.names.extend(unknown.map(|(key, _)| key.to_string()));
    }
}
