//! Charges and refunds of an evaluator. Main type: [`MemorySweep`].
//!
//! Invariant: only bytes of values that the program cannot reach are refunded.

use std::rc::Rc;

use pcore::Value;

use super::{BranchBytes, BranchGuard, HeldBytes, MemoryRegion, VariablesHeld};
use crate::Evaluator;
use crate::defaults::{UNSWEPT_BYTES_MAX, VISITS_A_STEP};
use crate::error::EvalResult;
use crate::frame::VariableFrame;

/// A loop, or the statements of a body, where most of the charged bytes are free again after each
/// turn.
#[derive(Debug)]
pub(crate) struct MemorySweep {
    charged_before: u64,
    pinned_before: u64,
    /// Bytes held at the last inspection.
    held: u64,
}

impl Evaluator<'_> {
    /// Starts a region and returns the enclosing one, for [`leave_region`](Self::leave_region).
    #[inline]
    pub(crate) fn enter_region(&self) -> MemoryRegion {
        self.region.take()
    }

    /// Ends a region: all bytes except those held by its result are refunded. The rest is charged
    /// to the enclosing region.
    #[inline]
    pub(crate) fn leave_region(&self, around: MemoryRegion, result: EvalResult) -> EvalResult {
        let result = match result {
            Ok(value) if self.region.charged.get() > 0 => self
                .settle(0, 0, |most| HeldBytes::of(&[&value], most))
                .map(|_| value),
            result => result,
        };
        let inner = self.region.take();
        let pinned = around.pinned.get().saturating_add(inner.pinned.get());
        self.region
            .charge(around.charged.get() + inner.charged.get());
        self.region.pinned.set(pinned);
        self.region
            .variables_held
            .set(around.variables_held.get().max(inner.variables_held.get()));
        result
    }

    /// Charges a value that the host received from elsewhere.
    pub fn charge_received(&self, value: &Value) -> EvalResult<()> {
        let held = HeldBytes::of(&[value], u64::MAX).unwrap_or_default();
        self.take_bytes(held.bytes)
            .map_err(|exhausted| self.exhausted_error(&exhausted))
    }

    /// Starts a loop.
    pub(crate) fn sweep(&self) -> MemorySweep {
        MemorySweep {
            charged_before: self.region.charged.get(),
            pinned_before: self.region.pinned.get(),
            held: 0,
        }
    }

    /// Refunds the bytes charged since `charged_before` that are not held, and returns the number
    /// still held.
    fn settle(
        &self,
        charged_before: u64,
        pinned_before: u64,
        held: impl FnOnce(u64) -> Option<HeldBytes>,
    ) -> EvalResult<u64> {
        let region = &self.region;
        let charged = region.charged.get() - charged_before;
        if charged == 0 || self.are_variables_kept() || !self.rendered.is_empty() {
            return Ok(charged);
        }
        let Some(held) = held(charged) else {
            return Ok(charged);
        };
        self.charge_steps(held.visits / VISITS_A_STEP)?;
        let pinned = region.pinned.get() - pinned_before;
        let live = held.bytes.saturating_add(pinned).min(charged);
        self.budget.return_bytes(charged - live);
        region.charged.set(charged_before + live);
        Ok(live)
    }

    /// Counts values that the host may keep as held from this point.
    pub(crate) fn pin(&self, values: &[Value]) {
        let values: Vec<&Value> = values.iter().collect();
        match HeldBytes::of(&values, self.budget.bytes_used()) {
            Some(held) => {
                let pinned = self.region.pinned.get();
                self.region.pinned.set(pinned.saturating_add(held.bytes));
            }
            None => self.region.variables_held.set(VariablesHeld::Always),
        }
    }

    /// Makes the guard of a branch started here, which may keep the variables of this region and of
    /// the enclosing ones.
    pub(crate) fn branch_guard(&self) -> Rc<BranchGuard> {
        let keeper = Rc::new(BranchGuard {
            _outer: self.keeper.clone(),
        });
        let kept = self
            .region
            .variables_held
            .get()
            .max(VariablesHeld::WhileBranchesRun);
        self.region.variables_held.set(kept);
        self.branches.borrow_mut().push(Rc::downgrade(&keeper));
        keeper
    }

    #[inline]
    fn are_variables_kept(&self) -> bool {
        match self.region.variables_held.get() {
            VariablesHeld::No => false,
            VariablesHeld::Always => true,
            VariablesHeld::WhileBranchesRun => {
                let runs = self.has_branches();
                if !runs {
                    self.region.variables_held.set(VariablesHeld::No);
                }
                runs
            }
        }
    }

    /// True if a branch started on this stack is still running. Ended branches are removed from the
    /// list.
    fn has_branches(&self) -> bool {
        let mut branches = self.branches.borrow_mut();
        while branches.last().is_some_and(|it| it.strong_count() == 0) {
            branches.pop();
        }
        !branches.is_empty()
    }

    /// Bytes that this evaluation still holds at its end, if it ran a branch.
    #[must_use]
    pub fn left_bytes(&self) -> BranchBytes {
        BranchBytes {
            charged: self.region.charged.get(),
            pinned: self.region.pinned.get(),
        }
    }

    /// Charges this evaluation with the bytes of an ended branch whose result it now holds.
    pub fn take_over(&self, left: BranchBytes) {
        self.region.charge(left.charged);
        let pinned = self.region.pinned.get().saturating_add(left.pinned);
        self.region.pinned.set(pinned);
    }
}

impl MemorySweep {
    /// Ends a turn whose values are all dropped.
    #[inline]
    pub(crate) fn charge_nothing(&self, evaluator: &Evaluator<'_>) -> EvalResult<()> {
        let nothing = |_| Some(HeldBytes::default());
        evaluator
            .settle(self.charged_before, self.pinned_before, nothing)
            .map(drop)
    }

    /// Ends a turn of which one value is kept.
    #[inline]
    pub(crate) fn charge_value(
        &mut self,
        evaluator: &Evaluator<'_>,
        value: &Value,
    ) -> EvalResult<()> {
        self.hold_some(evaluator, |most| HeldBytes::of(&[value], most))
    }

    /// Ends a statement: the variables and the last match are kept.
    #[inline]
    pub(crate) fn charge_variables(
        &mut self,
        evaluator: &Evaluator<'_>,
        frame: &VariableFrame,
    ) -> EvalResult<()> {
        self.hold_some(evaluator, |most| {
            let values = frame.values();
            let mut held = HeldBytes::of(&values.iter().collect::<Vec<_>>(), most)?;
            held.bytes += evaluator.matches.as_ref().map_or(0, |found| found.bytes());
            Some(held)
        })
    }

    /// Inspects the held values once twice as many bytes were charged as were held at the last
    /// inspection, so that inspecting values that stay does not take longer than creating them.
    fn hold_some(
        &mut self,
        evaluator: &Evaluator<'_>,
        held: impl FnOnce(u64) -> Option<HeldBytes>,
    ) -> EvalResult<()> {
        let charged = evaluator.region.charged.get() - self.charged_before;
        // values kept by a branch are inspected after the branch has ended
        if charged > 2 * self.held + UNSWEPT_BYTES_MAX && !evaluator.are_variables_kept() {
            self.held = evaluator.settle(self.charged_before, self.pinned_before, held)?;
        }
        Ok(())
    }
}
