//! Running lookups: [`ActiveLookups`].
//!
//! A function that a lookup calls may perform a lookup too, and several stacks of a plan may
//! perform lookups at the same time. The evaluator of a stack is borrowed and does not move during
//! a lookup, so its address identifies the stack.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use evaluator::{Evaluator, VariableScope};
use hiera::LookupTrail;
use pcore::Hash;

/// The running lookups of all stacks, the innermost last.
#[derive(Debug, Default)]
pub(crate) struct ActiveLookups {
    under_way: RefCell<Vec<Rc<RunningLookup>>>,
    next: Cell<u64>,
}

/// One running lookup.
#[derive(Debug)]
pub(crate) struct RunningLookup {
    number: u64,
    stack: usize,
    pub(crate) trail: Rc<LookupTrail>,
    /// The variables of the code that performs the lookup.
    pub(crate) scope: VariableScope,
    pub(crate) overrides: Hash,
    pub(crate) defaults: Hash,
    pub(crate) global_only: bool,
}

impl ActiveLookups {
    pub(crate) fn begin(
        &self,
        evaluator: &Evaluator<'_>,
        trail: Rc<LookupTrail>,
        scope: VariableScope,
        request: &hiera::LookupRequest<'_>,
    ) -> Rc<RunningLookup> {
        let number = self.next.get();
        self.next.set(number + 1);
        let lookup = Rc::new(RunningLookup {
            number,
            stack: stack(evaluator),
            trail,
            scope,
            overrides: request.overrides.clone(),
            defaults: request.defaults.clone(),
            global_only: request.global_only,
        });
        self.under_way.borrow_mut().push(Rc::clone(&lookup));
        lookup
    }

    pub(crate) fn end(&self, lookup: &RunningLookup) {
        let mut under_way = self.under_way.borrow_mut();
        under_way.retain(|it| it.number != lookup.number);
    }

    /// The innermost lookup of a stack; `None` if none is running.
    pub(crate) fn current(&self, evaluator: &Evaluator<'_>) -> Option<Rc<RunningLookup>> {
        let stack = stack(evaluator);
        let under_way = self.under_way.borrow();
        under_way.iter().rev().find(|it| it.stack == stack).cloned()
    }
}

fn stack(evaluator: &Evaluator<'_>) -> usize {
    std::ptr::from_ref(evaluator).addr()
}
