//! Errors in a Puppetfile with their positions: [`PuppetfileError`], [`PuppetfileErrors`].
//!
//! Invariant: a message quotes only the word with the error, and no other text, which may be
//! secret.

use std::fmt;

use crate::defaults::MAX_MISTAKES;

/// A position in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PuppetfilePosition {
    /// Line number, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
}

/// An error in a Puppetfile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {what}", at.line, at.column)]
pub struct PuppetfileError {
    /// Position at which the error begins.
    pub at: PuppetfilePosition,
    /// Description of the error, and the remedy if it is known.
    pub what: String,
}

/// All errors, in the order of the text; one line each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PuppetfileErrors {
    errors: Vec<PuppetfileError>,
    omitted: usize,
}

impl PuppetfilePosition {
    /// The beginning of the file.
    pub const START: Self = Self { line: 1, column: 1 };
}

impl PuppetfileError {
    pub(crate) fn new(at: PuppetfilePosition, what: impl Into<String>) -> Self {
        Self {
            at,
            what: what.into(),
        }
    }
}

impl PuppetfileErrors {
    pub(crate) fn from_single(mistake: PuppetfileError) -> Self {
        Self {
            errors: vec![mistake],
            omitted: 0,
        }
    }

    pub(crate) fn push(&mut self, mistake: PuppetfileError) {
        if self.errors.len() < MAX_MISTAKES {
            let after = |one: &PuppetfileError| one.at <= mistake.at;
            let index = self.errors.partition_point(after);
            self.errors.insert(index, mistake);
        } else {
            self.omitted += 1;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// The first errors, at most [`MAX_MISTAKES`].
    pub fn iter(&self) -> impl Iterator<Item = &PuppetfileError> {
        self.errors.iter()
    }
}

impl fmt::Display for PuppetfileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.errors.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{mistake}")?;
        }
        match self.omitted {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for PuppetfileErrors {}
