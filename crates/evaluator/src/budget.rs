//! What an evaluation may use. Main types: [`Limits`] and [`Budget`], which counts.
//!
//! Everything that is counted is counted the same on every run, so a program that is evaluated again
//! meets the same end. Only the stack is measured and not counted, as the last resort. The rule that
//! must hold: nothing that a program can repeat or grow goes uncharged.

use std::cell::Cell;
use std::rc::Rc;

use crate::defaults;

/// The limits of an evaluation.
#[derive(Debug, Clone)]
pub struct Limits {
    pub steps_max: u64,
    pub bytes_max: u64,
    pub value_bytes_max: u64,
    pub calls_max: u32,
    /// Stack below the place where the evaluation is entered.
    pub stack_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps_max: defaults::STEPS_MAX,
            bytes_max: defaults::BYTES_MAX,
            value_bytes_max: defaults::VALUE_BYTES_MAX,
            calls_max: defaults::CALLS_MAX,
            stack_bytes: defaults::STACK_BYTES,
        }
    }
}

impl Limits {
    /// For evaluations on a stack of this size: a quarter is kept for what the host does below.
    #[must_use]
    pub fn for_stack(stack_bytes: usize) -> Self {
        Self {
            stack_bytes: stack_bytes - stack_bytes / 4,
            ..Self::default()
        }
    }
}

/// What is left of the limits. Branches of one plan share what they use.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    steps_left: Rc<Cell<u64>>,
    bytes_left: Rc<Cell<u64>>,
    limits: Rc<Limits>,
}

/// Which limit was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Exhausted {
    Steps,
    Bytes,
    ValueBytes,
    Calls,
    Stack,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            steps_left: Rc::new(Cell::new(limits.steps_max)),
            bytes_left: Rc::new(Cell::new(limits.bytes_max)),
            limits: Rc::new(limits),
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether it has taken so many steps that others should have their turn.
    #[inline]
    pub(crate) fn is_turn_over(&self) -> bool {
        self.steps_left.get().is_multiple_of(defaults::STEPS_A_TURN)
    }

    #[inline]
    pub(crate) fn step(&self) -> Result<(), Exhausted> {
        self.steps(1)
    }

    /// Takes steps for work that is done in one go.
    #[inline]
    pub(crate) fn steps(&self, steps: u64) -> Result<(), Exhausted> {
        match self.steps_left.get().checked_sub(steps) {
            Some(left) => {
                self.steps_left.set(left);
                Ok(())
            }
            None => Err(Exhausted::Steps),
        }
    }

    /// Takes what a new value needs, before it is made.
    pub(crate) fn bytes(&self, bytes: u64) -> Result<(), Exhausted> {
        if bytes > self.limits.value_bytes_max {
            return Err(Exhausted::ValueBytes);
        }
        match self.bytes_left.get().checked_sub(bytes) {
            Some(left) => {
                self.bytes_left.set(left);
                Ok(())
            }
            None => Err(Exhausted::Bytes),
        }
    }

    pub(crate) fn describe(&self, exhausted: &Exhausted) -> (String, &'static str) {
        let limits = &self.limits;
        match exhausted {
            Exhausted::Steps => (
                format!("the program takes more than {} steps", limits.steps_max),
                "look for a loop that does not end, or give the work to a task",
            ),
            Exhausted::Bytes => (
                format!(
                    "the program makes more than {} bytes of values",
                    limits.bytes_max
                ),
                "look for a loop that builds a text or a list out of itself",
            ),
            Exhausted::ValueBytes => (
                format!(
                    "a value would have more than {} bytes",
                    limits.value_bytes_max
                ),
                "look for a loop that builds a text or a list out of itself",
            ),
            Exhausted::Calls => (
                format!(
                    "calls are more than {} deep inside each other",
                    limits.calls_max
                ),
                "look for a function that calls itself without an end",
            ),
            Exhausted::Stack => (
                "expressions and calls are too deep inside each other".to_owned(),
                "look for a function that calls itself without an end",
            ),
        }
    }
}

/// The stack that may be used, measured by the addresses of local variables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stack {
    top: usize,
    bytes: usize,
}

impl Stack {
    /// Everything from here down, for so many bytes.
    #[inline(never)]
    pub(crate) fn from_here(bytes: usize) -> Self {
        Self {
            top: address(),
            bytes,
        }
    }

    #[inline]
    pub(crate) fn check(self) -> Result<(), Exhausted> {
        if self.top.abs_diff(address()) > self.bytes {
            Err(Exhausted::Stack)
        } else {
            Ok(())
        }
    }
}

/// Where the stack is now, roughly.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it must look at the caller's frame, not at its own"
)]
fn address() -> usize {
    let here = 0_u8;
    std::hint::black_box(&raw const here).addr()
}
