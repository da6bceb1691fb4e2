//! Errors in a Puppetfile with their positions: [`Mistake`], [`Mistakes`].
//!
//! Invariant: a message quotes only the word with the error, and no other text, which may be
//! secret.

use std::fmt;

use crate::defaults::MAX_MISTAKES;

/// A position in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line number, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
}

/// An error in a Puppetfile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {what}", at.line, at.column)]
pub struct Mistake {
    /// Position at which the error begins.
    pub at: Position,
    /// Description of the error, and the remedy if it is known.
    pub what: String,
}

/// All errors, in the order of the text; one line each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mistakes {
    found: Vec<Mistake>,
    more: usize,
}

impl Position {
    /// The beginning of the file.
    pub const START: Self = Self { line: 1, column: 1 };
}

impl Mistake {
    pub(crate) fn new(at: Position, what: impl Into<String>) -> Self {
        Self {
            at,
            what: what.into(),
        }
    }
}

impl Mistakes {
    pub(crate) fn one(mistake: Mistake) -> Self {
        Self {
            found: vec![mistake],
            more: 0,
        }
    }

    pub(crate) fn push(&mut self, mistake: Mistake) {
        if self.found.len() < MAX_MISTAKES {
            let after = |one: &Mistake| one.at <= mistake.at;
            let index = self.found.partition_point(after);
            self.found.insert(index, mistake);
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The first errors, at most [`MAX_MISTAKES`].
    pub fn iter(&self) -> impl Iterator<Item = &Mistake> {
        self.found.iter()
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.found.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{mistake}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for Mistakes {}
