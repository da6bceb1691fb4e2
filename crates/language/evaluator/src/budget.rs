//! Limits of an evaluation. Main types: [`EvaluationLimits`], [`SharedBytes`] and
//! [`EvaluationBudget`], which counts.
//!
//! Steps only increase. Bytes are those that a program currently holds: they are charged before a
//! value is created, and refunded when the value is unreachable ([`crate::live_memory`]). Both are
//! deterministic, so a repeated evaluation ends at the same point. Two limits differ from run to
//! run, and no program can catch their errors: the stack is measured, and the memory of all
//! evaluations together depends on the others.
//!
//! Invariant: everything that a program can repeat or grow is charged.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::defaults;

/// The limits of an evaluation.
#[derive(Debug, Clone)]
pub struct EvaluationLimits {
    pub steps_max: u64,
    pub bytes_max: u64,
    pub value_bytes_max: u64,
    pub calls_max: u32,
    /// Stack in bytes below the entry point of the evaluation.
    pub stack_bytes: usize,
    /// Memory of all evaluations together; `None` if this evaluation shares none.
    pub shared: Option<Arc<SharedBytes>>,
}

impl Default for EvaluationLimits {
    fn default() -> Self {
        Self {
            steps_max: defaults::STEPS_MAX,
            bytes_max: defaults::BYTES_MAX,
            value_bytes_max: defaults::VALUE_BYTES_MAX,
            calls_max: defaults::CALLS_MAX,
            stack_bytes: defaults::STACK_BYTES,
            shared: None,
        }
    }
}

impl EvaluationLimits {
    /// Limits for a stack of this size; a quarter of it is reserved for host functions.
    #[must_use]
    pub fn for_stack(stack_bytes: usize) -> Self {
        Self {
            stack_bytes: stack_bytes - stack_bytes / 4,
            ..Self::default()
        }
    }
}

/// Pool of bytes that all evaluations of all threads may hold together.
///
/// Each evaluation has [`OWN_BYTES`](defaults::OWN_BYTES) outside of the pool and takes further
/// bytes from it until they are refunded.
///
/// Invariant: an evaluation never has more of the pool than remains for the others. So a single
/// evaluation gets at most half, each large one leaves bytes for the next, and only large ones are
/// refused.
#[derive(Debug)]
pub struct SharedBytes {
    left: AtomicU64,
    max: u64,
}

/// Part of [`SharedBytes`] that one evaluation holds; it is returned when its last branch ends.
#[derive(Debug)]
struct PoolBudgetShare {
    pool: Arc<SharedBytes>,
    taken: Cell<u64>,
    /// Bytes taken from the pool and not used yet.
    unused: Cell<u64>,
}

/// Remaining steps and bytes of an evaluation, shared by all branches of a plan.
#[derive(Debug, Clone)]
pub(crate) struct EvaluationBudget {
    steps_left: Rc<Cell<u64>>,
    bytes_left: Rc<Cell<u64>>,
    share: Option<Rc<PoolBudgetShare>>,
    limits: Rc<EvaluationLimits>,
}

/// The limit that was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExhaustedLimit {
    Steps,
    Bytes,
    SharedBytes,
    ValueBytes,
    Calls,
    Stack,
}

impl EvaluationBudget {
    pub(crate) fn new(limits: EvaluationLimits) -> Self {
        Self {
            steps_left: Rc::new(Cell::new(limits.steps_max)),
            bytes_left: Rc::new(Cell::new(limits.bytes_max)),
            share: limits
                .shared
                .clone()
                .map(|shared| Rc::new(PoolBudgetShare::new(shared))),
            limits: Rc::new(limits),
        }
    }

    pub(crate) fn limits(&self) -> &EvaluationLimits {
        &self.limits
    }

    /// True after every [`STEPS_A_TURN`](defaults::STEPS_A_TURN) steps, when other evaluations
    /// should run.
    #[inline]
    pub(crate) fn is_turn_over(&self) -> bool {
        self.steps_left.get().is_multiple_of(defaults::STEPS_A_TURN)
    }

    #[inline]
    pub(crate) fn spend_step(&self) -> Result<(), ExhaustedLimit> {
        self.spend_steps(1)
    }

    /// Charges several steps for work done in one call.
    #[inline]
    pub(crate) fn spend_steps(&self, steps: u64) -> Result<(), ExhaustedLimit> {
        match self.steps_left.get().checked_sub(steps) {
            Some(left) => {
                self.steps_left.set(left);
                Ok(())
            }
            None => Err(ExhaustedLimit::Steps),
        }
    }

    /// Charges the bytes of a new value, before it is created.
    pub(crate) fn spend_bytes(&self, bytes: u64) -> Result<(), ExhaustedLimit> {
        if bytes > self.limits.value_bytes_max {
            return Err(ExhaustedLimit::ValueBytes);
        }
        let Some(left) = self.bytes_left.get().checked_sub(bytes) else {
            return Err(ExhaustedLimit::Bytes);
        };
        if self
            .share
            .as_ref()
            .is_some_and(|share| !share.use_up(bytes))
        {
            return Err(ExhaustedLimit::SharedBytes);
        }
        self.bytes_left.set(left);
        Ok(())
    }

    /// Refunds bytes of unreachable values.
    pub(crate) fn return_bytes(&self, bytes: u64) {
        let left = self.bytes_left.get().saturating_add(bytes);
        self.bytes_left.set(left.min(self.limits.bytes_max));
        if let Some(share) = &self.share {
            share.return_to_pool(bytes);
        }
    }

    /// Bytes that the evaluation currently holds.
    pub(crate) fn bytes_used(&self) -> u64 {
        self.limits.bytes_max - self.bytes_left.get()
    }

    pub(crate) fn describe(&self, exhausted: &ExhaustedLimit) -> (String, &'static str) {
        let limits = &self.limits;
        match exhausted {
            ExhaustedLimit::Steps => (
                format!("the program takes more than {} steps", limits.steps_max),
                "look for a loop that does not end, or give the work to a task",
            ),
            ExhaustedLimit::Bytes => (
                format!(
                    "the program holds more than {} bytes of values",
                    limits.bytes_max
                ),
                "look for a loop that builds a text or a list out of itself",
            ),
            ExhaustedLimit::SharedBytes => (
                "the program holds more bytes of values than others leave".to_owned(),
                "many programs with large values run at once: run it again later, or let it hold less",
            ),
            ExhaustedLimit::ValueBytes => (
                format!(
                    "a value would have more than {} bytes",
                    limits.value_bytes_max
                ),
                "look for a loop that builds a text or a list out of itself",
            ),
            ExhaustedLimit::Calls => (
                format!(
                    "calls are more than {} deep inside each other",
                    limits.calls_max
                ),
                "look for a function that calls itself without an end",
            ),
            ExhaustedLimit::Stack => (
                "expressions and calls are too deep inside each other".to_owned(),
                "look for a function that calls itself without an end",
            ),
        }
    }
}

// === impl SharedBytes ===

impl SharedBytes {
    #[must_use]
    pub fn new(max: u64) -> Self {
        Self {
            left: AtomicU64::new(max),
            max,
        }
    }

    /// Bytes currently taken from the pool, without the own bytes of each evaluation. It shows tests that
    /// evaluations return them.
    pub fn bytes_taken(&self) -> u64 {
        self.max - self.left.load(Ordering::Relaxed)
    }

    /// Takes `bytes` for an evaluation that already has `taken`; false if too little remains.
    fn take(&self, bytes: u64, taken: u64) -> bool {
        let fair = |left: u64| {
            left.checked_sub(bytes)
                .filter(|after| taken.saturating_add(bytes) <= *after)
        };
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fair)
            .is_ok()
    }
}

// === impl PoolBudgetShare ===

impl PoolBudgetShare {
    fn new(of: Arc<SharedBytes>) -> Self {
        Self {
            pool: of,
            taken: Cell::new(0),
            unused: Cell::new(defaults::OWN_BYTES),
        }
    }

    /// Uses bytes, taking more from the pool in chunks if needed.
    fn use_up(&self, bytes: u64) -> bool {
        if let Some(unused) = self.unused.get().checked_sub(bytes) {
            self.unused.set(unused);
            return true;
        }
        let more = bytes.max(defaults::SHARED_CHUNK_BYTES);
        if !self.pool.take(more, self.taken.get()) {
            return false;
        }
        self.taken.set(self.taken.get() + more);
        self.unused.set(self.unused.get() + more - bytes);
        true
    }

    /// Returns unused bytes above [`OWN_BYTES`](defaults::OWN_BYTES) to the pool.
    fn return_to_pool(&self, bytes: u64) {
        let unused = self.unused.get() + bytes;
        let excess = unused
            .saturating_sub(defaults::OWN_BYTES)
            .min(self.taken.get());
        self.unused.set(unused - excess);
        self.taken.set(self.taken.get() - excess);
        self.pool.left.fetch_add(excess, Ordering::Relaxed);
    }
}

impl Drop for PoolBudgetShare {
    fn drop(&mut self) {
        self.pool
            .left
            .fetch_add(self.taken.get(), Ordering::Relaxed);
    }
}

/// The stack that may be used, measured by the addresses of local variables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StackBudget {
    top: usize,
    bytes: usize,
}

impl StackBudget {
    /// The stack from the current frame down, limited to this many bytes.
    #[inline(never)]
    pub(crate) fn from_here(bytes: usize) -> Self {
        Self {
            top: address(),
            bytes,
        }
    }

    #[inline]
    pub(crate) fn check(self) -> Result<(), ExhaustedLimit> {
        if self.top.abs_diff(address()) > self.bytes {
            Err(ExhaustedLimit::Stack)
        } else {
            Ok(())
        }
    }
}

/// Approximate address of the top of the stack.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it must look at the caller's frame, not at its own"
)]
fn address() -> usize {
    let here = 0_u8;
    std::hint::black_box(&raw const here).addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;

    fn budget(shared: &Arc<SharedBytes>) -> EvaluationBudget {
        EvaluationBudget::new(EvaluationLimits {
            shared: Some(Arc::clone(shared)),
            ..EvaluationLimits::default()
        })
    }

    /// Spends 64 KiB at a time until the budget is exhausted; returns the spent bytes.
    fn greedy(budget: &EvaluationBudget) -> u64 {
        let mut got = 0;
        while budget.spend_bytes(64 * KIB).is_ok() {
            got += 64 * KIB;
        }
        assert_eq!(
            budget.spend_bytes(64 * KIB),
            Err(ExhaustedLimit::SharedBytes)
        );
        got
    }

    #[test]
    fn the_memory_of_all_evaluations_is_bounded_and_each_gets_some() {
        let max = 64 << 20;
        let shared = Arc::new(SharedBytes::new(max));
        let budgets: Vec<EvaluationBudget> = (0..1_000).map(|_| budget(&shared)).collect();
        let mut total = 0;
        for budget in &budgets {
            let got = greedy(budget);
            assert!(got >= defaults::OWN_BYTES, "{got}");
            total += got;
        }
        assert!(total <= max + 1_000 * defaults::OWN_BYTES, "{total}");
        assert!(shared.bytes_taken() <= max);
        let late = budget(&shared);
        assert!(
            late.spend_bytes(defaults::OWN_BYTES).is_ok(),
            "one that needs little goes on"
        );
    }

    #[test]
    fn what_is_given_back_is_there_for_others() {
        let max = 64 << 20;
        let shared = Arc::new(SharedBytes::new(max));
        let first = budget(&shared);
        let got = greedy(&first);
        first.return_bytes(got);
        assert_eq!((first.bytes_used(), shared.bytes_taken()), (0, 0));
        assert_eq!(greedy(&budget(&shared)), got);
    }

    #[test]
    fn one_that_takes_much_leaves_half_and_gives_it_back() {
        let max = 64 << 20;
        let shared = Arc::new(SharedBytes::new(max));
        let first = budget(&shared);
        let branch = first.clone();
        assert!(greedy(&first) >= max / 2 - defaults::SHARED_CHUNK_BYTES);
        assert!(shared.bytes_taken() <= max / 2);
        let second = budget(&shared);
        assert!(greedy(&second) >= max / 4 - 2 * defaults::SHARED_CHUNK_BYTES);
        drop((first, second));
        assert!(shared.bytes_taken() > 0, "a branch goes on");
        drop(branch);
        assert_eq!(shared.bytes_taken(), 0);
    }
}
