//! Why a text is no type: [`TypeError`].

use crate::defaults::{MAX_QUOTED_CHARS, MAX_TYPE_BYTES, MAX_TYPE_DEPTH};

/// Why a text is no type. Positions are byte offsets, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// Beyond any use.
    #[error("a type of {0} bytes is too long; the limit is {MAX_TYPE_BYTES}")]
    TooLong(usize),
    /// Nested too deeply.
    #[error("nested deeper than {MAX_TYPE_DEPTH} levels at position {at}")]
    TooDeep {
        /// Where.
        at: usize,
    },
    /// A name that is not known here.
    #[error("unknown type '{name}' at position {at}")]
    Unknown {
        /// The name, clipped.
        name: String,
        /// Where.
        at: usize,
    },
    /// Something that does not belong there.
    #[error("unexpected {found} at position {at}")]
    Unexpected {
        /// What, clipped.
        found: String,
        /// Where.
        at: usize,
    },
    /// Something is missing.
    #[error("expected {expected} at position {at}")]
    Expected {
        /// What.
        expected: &'static str,
        /// Where.
        at: usize,
    },
    /// Parameters that the type does not take.
    #[error("{name} takes {takes} (at position {at})")]
    Parameters {
        /// The type.
        name: String,
        /// What it takes.
        takes: &'static str,
        /// Where.
        at: usize,
    },
    /// The smaller end of a range is above the larger.
    #[error("the range at position {at} is empty: its first number is above its second")]
    EmptyRange {
        /// Where.
        at: usize,
    },
    /// A regular expression that cannot be used.
    #[error("{problem} (at position {at})")]
    Regex {
        /// Why.
        problem: String,
        /// Where.
        at: usize,
    },
    /// A string or expression without an end.
    #[error("the {what} that begins at position {at} does not end")]
    Unclosed {
        /// Which.
        what: &'static str,
        /// Where.
        at: usize,
    },
    /// A variable in a string.
    #[error("a string in a type cannot have variables (at position {at})")]
    Interpolation {
        /// Where.
        at: usize,
    },
}

/// As much of a word as an error may repeat.
pub(super) fn clip(word: &str) -> String {
    word.chars().take(MAX_QUOTED_CHARS).collect()
}
