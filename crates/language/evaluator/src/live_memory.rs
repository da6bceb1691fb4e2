//! Accounting of the memory that a program currently holds. Main types: [`MemoryRegion`], one call
//! of a function or block, and [`MemorySweep`].
//!
//! Bytes are charged before a value is created ([`crate::budget`]). At the end of a call its
//! variables are dropped, so the bytes charged since its start are refunded, except those held by
//! its result. Iterations that drop the results of their block, and bodies between two statements,
//! do the same.
//!
//! Invariant: refunded values are unreachable. Therefore nothing is refunded if the region ended
//! with an error, if its result holds a value that cannot be inspected, while a branch started in
//! it keeps the variables, or while a template is rendered; and values passed to the host count as
//! held until the evaluation ends. Bytes that a branch still holds at its end belong to the region
//! that waits for it ([`BranchBytes`]).
//!
//! Inspecting values takes steps, and never inspects more bytes than were charged.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use pcore::Value;

use crate::Evaluator;
use crate::defaults::{ELEMENT_BYTES, UNSWEPT_BYTES_MAX, VISITS_A_STEP};
use crate::error::EvalResult;
use crate::frame::VariableFrame;

/// Bytes charged in a call, including the calls inside it.
#[derive(Debug, Default)]
pub(crate) struct MemoryRegion {
    /// Bytes charged, less those refunded.
    charged: Cell<u64>,
    /// Bytes of the values passed to the host.
    pinned: Cell<u64>,
    /// Time for which the variables are held after the call.
    variables_held: Cell<VariablesHeld>,
}

/// Time for which variables may be held after the evaluation of their region has ended.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum VariablesHeld {
    #[default]
    No,
    WhileBranchesRun,
    Always,
}

/// Marks a running branch, which may hold the variables of the code that started it. The guard
/// lives as long as the branch and the branches started in it, since they hold the same variables.
#[derive(Debug)]
pub(crate) struct BranchGuard {
    _outer: Option<Rc<BranchGuard>>,
}

/// Bytes that a branch has charged and not refunded at its end.
#[derive(Debug, Default, Clone, Copy)]
pub struct BranchBytes {
    charged: u64,
    pinned: u64,
}

/// A loop, or the statements of a body, where most of the charged bytes are free again after each
/// turn.
#[derive(Debug)]
pub(crate) struct MemorySweep {
    charged_before: u64,
    pinned_before: u64,
    /// Bytes held at the last inspection.
    held: u64,
}

impl MemoryRegion {
    pub(crate) fn charge(&self, bytes: u64) {
        self.charged.set(self.charged.get() + bytes);
    }

    fn take(&self) -> Self {
        Self {
            charged: Cell::new(self.charged.take()),
            pinned: Cell::new(self.pinned.take()),
            variables_held: Cell::new(self.variables_held.take()),
        }
    }
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

/// Running branches that an evaluation started.
pub(crate) type RunningBranches = std::cell::RefCell<Vec<Weak<BranchGuard>>>;

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

/// Memory held by a set of values.
#[derive(Debug, Default)]
struct HeldBytes {
    bytes: u64,
    /// Number of inspected values.
    visits: usize,
}

impl HeldBytes {
    /// Measures values up to `most` bytes; `None` if one of them cannot be inspected. The walk has
    /// its own stack, because values may be deeply nested. A value held twice is counted twice, so
    /// the result is capped at `most`.
    fn of(values: &[&Value], most: u64) -> Option<Self> {
        let mut held = Self::default();
        let mut waiting: Vec<&Value> = values.to_vec();
        while let Some(value) = waiting.pop() {
            held.visits += 1;
            held.bytes += own_bytes(value)?;
            if held.bytes >= most {
                held.bytes = most;
                return Some(held);
            }
            match value {
                Value::Sensitive(inner) => waiting.push(inner),
                Value::Array(elements) => waiting.extend(elements.iter()),
                Value::Hash(entries) => {
                    for (key, value) in entries.iter() {
                        waiting.extend([key, value]);
                    }
                }
                _ => {}
            }
        }
        Some(held)
    }
}

/// Bytes of a value without its elements.
fn own_bytes(value: &Value) -> Option<u64> {
    Some(match value {
        Value::Undef
        | Value::Default
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Timestamp(_)
        | Value::Timespan(_)
        | Value::Sensitive(_) => 0,
        Value::Str(text) => text.len() as u64,
        Value::Binary(binary) => binary.bytes().len() as u64,
        Value::Regexp(regexp) => regexp.source().len() as u64,
        Value::Array(elements) => elements.len() as u64 * ELEMENT_BYTES,
        Value::Hash(entries) => entries.len() as u64 * 2 * ELEMENT_BYTES,
        Value::Object(object) if object.is_of_host() => 0,
        Value::Object(_)
        | Value::Type(_)
        | Value::SemVer(_)
        | Value::SemVerRange(_)
        | Value::Uri(_) => return None,
    })
}
