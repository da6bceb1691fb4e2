//! Accounting of the memory that a program currently holds. Main types: [`MemoryRegion`], one call
//! of a function or block, and [`accounting::MemorySweep`].
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

mod accounting;

use std::cell::Cell;
use std::rc::{Rc, Weak};

use pcore::Value;

use crate::defaults::ELEMENT_BYTES;

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

/// Running branches that an evaluation started.
pub(crate) type RunningBranches = std::cell::RefCell<Vec<Weak<BranchGuard>>>;

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
