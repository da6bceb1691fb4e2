//! Memory that a program holds at the moment. Main types: [`MemoryRegion`], a call of a function or block, and [`MemorySweep`].
//!
//! Bytes are charged before a value is made ([`crate::budget`]). When a call ends, its variables are gone; so what was
//! charged since it began, and is not held by its result, is given back. Iterations that drop what a block gave, and
//! bodies between two statements, do the same. The rule that must hold: what is given back cannot be reached any
//! more. So nothing is given back if the region ended with an error, if its result holds something that cannot be
//! looked into, as long as a branch that was started in it keeps the variables, or while a template is written; and
//! what the host was given counts as held until the evaluation ends. What a branch still holds when it has ended
//! belongs to the region that waits for it ([`BranchBytes`]).
//!
//! What is looked at is never more than what was charged, and takes steps.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use pcore::Value;

use crate::Evaluator;
use crate::defaults::{ELEMENT_BYTES, UNSWEPT_BYTES_MAX, VISITS_A_STEP};
use crate::error::Eval;
use crate::frame::Frame;

/// What was charged in a call, and in the calls inside it.
#[derive(Debug, Default)]
pub(crate) struct MemoryRegion {
    /// Bytes charged, less what was given back.
    charged: Cell<u64>,
    /// Bytes of the values that the host was given.
    pinned: Cell<u64>,
    /// What keeps the variables after the call.
    kept: Cell<VariablesHeld>,
}

/// How long variables may be held by something else than the evaluation of their region.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum VariablesHeld {
    #[default]
    No,
    WhileBranchesRun,
    Always,
}

/// A branch, which may hold the variables of the place where it was started. It lives as long as the branch, and
/// those that were started in it, since they hold the same variables.
#[derive(Debug)]
pub(crate) struct BranchGuard {
    _outer: Option<Rc<BranchGuard>>,
}

/// What a branch has taken of the budget and not given back when it has ended.
#[derive(Debug, Default, Clone, Copy)]
pub struct BranchBytes {
    charged: u64,
    pinned: u64,
}

/// A loop, or the statements of a body, in which most of what was charged is free again after each turn.
#[derive(Debug)]
pub(crate) struct MemorySweep {
    charged_before: u64,
    pinned_before: u64,
    /// Bytes that were held when it was looked last.
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
            kept: Cell::new(self.kept.take()),
        }
    }
}

impl Evaluator<'_> {
    /// Begins a region; what was in the one around it comes back, for [`leave_region`](Self::leave_region).
    #[inline]
    pub(crate) fn enter_region(&self) -> MemoryRegion {
        self.region.take()
    }

    /// Ends a region: all but what its result holds is free. The rest belongs to the region around it.
    #[inline]
    pub(crate) fn leave_region(&self, around: MemoryRegion, result: Eval) -> Eval {
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
            .kept
            .set(around.kept.get().max(inner.kept.get()));
        result
    }

    /// Begins a loop.
    pub(crate) fn sweep(&self) -> MemorySweep {
        MemorySweep {
            charged_before: self.region.charged.get(),
            pinned_before: self.region.pinned.get(),
            held: 0,
        }
    }

    /// Gives back what was charged since `charged_before` and is not held; says how much is.
    fn settle(
        &self,
        charged_before: u64,
        pinned_before: u64,
        held: impl FnOnce(u64) -> Option<HeldBytes>,
    ) -> Eval<u64> {
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
        self.budget.give_back(charged - live);
        region.charged.set(charged_before + live);
        Ok(live)
    }

    /// Values that the host may keep count as held from now on.
    pub(crate) fn pin(&self, values: &[Value]) {
        let values: Vec<&Value> = values.iter().collect();
        match HeldBytes::of(&values, self.budget.used()) {
            Some(held) => {
                let pinned = self.region.pinned.get();
                self.region.pinned.set(pinned.saturating_add(held.bytes));
            }
            None => self.region.kept.set(VariablesHeld::Always),
        }
    }

    /// For a branch that is started here: it may keep the variables of this region, and of those around it.
    pub(crate) fn keeper(&self) -> Rc<BranchGuard> {
        let keeper = Rc::new(BranchGuard {
            _outer: self.keeper.clone(),
        });
        let kept = self.region.kept.get().max(VariablesHeld::WhileBranchesRun);
        self.region.kept.set(kept);
        self.branches.borrow_mut().push(Rc::downgrade(&keeper));
        keeper
    }

    #[inline]
    fn are_variables_kept(&self) -> bool {
        match self.region.kept.get() {
            VariablesHeld::No => false,
            VariablesHeld::Always => true,
            VariablesHeld::WhileBranchesRun => {
                let runs = self.has_branches();
                if !runs {
                    self.region.kept.set(VariablesHeld::No);
                }
                runs
            }
        }
    }

    /// Whether a branch that was started on this stack goes on. Those that have ended are forgotten.
    fn has_branches(&self) -> bool {
        let mut branches = self.branches.borrow_mut();
        while branches.last().is_some_and(|it| it.strong_count() == 0) {
            branches.pop();
        }
        !branches.is_empty()
    }

    /// What the evaluation of a branch, which this one was, leaves behind.
    #[must_use]
    pub fn left_bytes(&self) -> BranchBytes {
        BranchBytes {
            charged: self.region.charged.get(),
            pinned: self.region.pinned.get(),
        }
    }

    /// What a branch left, of which this evaluation has the result now.
    pub fn take_over(&self, left: BranchBytes) {
        self.region.charge(left.charged);
        let pinned = self.region.pinned.get().saturating_add(left.pinned);
        self.region.pinned.set(pinned);
    }
}

/// The branches that an evaluation started, as long as they go on.
pub(crate) type Branches = std::cell::RefCell<Vec<Weak<BranchGuard>>>;

impl MemorySweep {
    /// After a turn of which nothing is held.
    #[inline]
    pub(crate) fn hold_nothing(&self, evaluator: &Evaluator<'_>) -> Eval<()> {
        let nothing = |_| Some(HeldBytes::default());
        evaluator
            .settle(self.charged_before, self.pinned_before, nothing)
            .map(drop)
    }

    /// After a turn of which one value is held.
    #[inline]
    pub(crate) fn hold(&mut self, evaluator: &Evaluator<'_>, value: &Value) -> Eval<()> {
        self.hold_some(evaluator, |most| HeldBytes::of(&[value], most))
    }

    /// After a statement: its variables are held, and the last match.
    #[inline]
    pub(crate) fn hold_variables(&mut self, evaluator: &Evaluator<'_>, frame: &Frame) -> Eval<()> {
        self.hold_some(evaluator, |most| {
            let values = frame.values();
            let mut held = HeldBytes::of(&values.iter().collect::<Vec<_>>(), most)?;
            held.bytes += evaluator.matches.as_ref().map_or(0, |found| found.bytes());
            Some(held)
        })
    }

    /// Looks when twice as much was charged as was held when it was looked last, so that looking at what is held
    /// all the time does not take longer than making it did.
    fn hold_some(
        &mut self,
        evaluator: &Evaluator<'_>,
        held: impl FnOnce(u64) -> Option<HeldBytes>,
    ) -> Eval<()> {
        let charged = evaluator.region.charged.get() - self.charged_before;
        // What a branch keeps is looked at when the branch has ended.
        if charged > 2 * self.held + UNSWEPT_BYTES_MAX && !evaluator.are_variables_kept() {
            self.held = evaluator.settle(self.charged_before, self.pinned_before, held)?;
        }
        Ok(())
    }
}

/// What some values hold.
#[derive(Debug, Default)]
struct HeldBytes {
    bytes: u64,
    /// Values that were looked at.
    visits: usize,
}

impl HeldBytes {
    /// No more than `most` bytes; `None` if something in them cannot be looked into. The walk has its own stack:
    /// values may be deep. What is held twice is counted twice, so it ends at `most`.
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

/// Bytes of a value without those that it holds.
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
