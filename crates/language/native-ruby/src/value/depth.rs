//! Bounds of walks through nested values: [`Depth`].

use std::cell::Cell;

use super::{Eval, refuse};
use crate::defaults::{ELEMENTS_MAX, VALUE_DEPTH_MAX};

/// Level of a walk, and the number of values that it visited. An array may contain itself, or the same
/// array many times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Depth<'a> {
    level: usize,
    visited: &'a Cell<usize>,
}

// === impl Depth ===

impl<'a> Depth<'a> {
    pub(crate) const fn new(visited: &'a Cell<usize>) -> Self {
        Self { level: 0, visited }
    }

    /// Counts a visited value.
    pub(crate) fn visit(self) -> Eval<()> {
        self.visited.set(self.visited.get() + 1);
        if self.level > VALUE_DEPTH_MAX || self.visited.get() > ELEMENTS_MAX {
            return refuse("a large or deeply nested value");
        }
        Ok(())
    }

    pub(crate) const fn deeper(self) -> Self {
        Self {
            level: self.level + 1,
            visited: self.visited,
        }
    }
}
