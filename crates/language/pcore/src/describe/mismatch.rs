//! A single type mismatch. Main type: [`Mismatch`].
//!
//! Invariant: the place of a mismatch does not depend on the choice that led to it.

use super::path::Step;
use crate::types::{IntRange, Type};

/// Something that does not fit, and where.
#[derive(Debug, Clone)]
pub(super) struct Mismatch {
    pub(super) path: Vec<Step>,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    MissingKey(String),
    MissingParameter(String),
    ExtraneousKey(String),
    InvalidParameter(String),
    UnexpectedBlock,
    MissingBlock,
    Unresolved(String),
    Type {
        expected: Type,
        actual: Type,
    },
    Pattern {
        expected: Type,
        actual: Type,
    },
    Size {
        expected: IntRange,
        actual: IntRange,
    },
    Count {
        expected: IntRange,
        actual: IntRange,
    },
}

/// Kinds of mismatches that are merged when every choice gives one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Size,
    Count,
    MissingBlock,
    UnexpectedBlock,
    Type,
}

impl Mismatch {
    pub(super) fn new(path: &[Step], what: What) -> Self {
        Self {
            path: path.to_vec(),
            what,
        }
    }

    pub(super) fn of_type(path: &[Step], expected: &Type, actual: &Type) -> Self {
        Self::new(
            path,
            What::Type {
                expected: expected.normalize(),
                actual: actual.normalize(),
            },
        )
    }

    pub(super) fn of_pattern(path: &[Step], expected: &Type, actual: &Type) -> Self {
        Self::new(
            path,
            What::Pattern {
                expected: expected.normalize(),
                actual: actual.normalize(),
            },
        )
    }

    /// The place without the choices that led to it.
    pub(super) fn place(&self) -> impl Iterator<Item = &Step> {
        self.path.iter().filter(|step| !step.is_choice())
    }

    pub(super) fn is(&self, class: Class) -> bool {
        match class {
            Class::Size => matches!(self.what, What::Size { .. } | What::Count { .. }),
            Class::Count => matches!(self.what, What::Count { .. }),
            Class::MissingBlock => matches!(self.what, What::MissingBlock),
            Class::UnexpectedBlock => matches!(self.what, What::UnexpectedBlock),
            Class::Type => matches!(self.what, What::Type { .. } | What::Pattern { .. }),
        }
    }

    /// Combines two mismatches at the same position.
    pub(super) fn merge(&self, other: &Self) -> Self {
        let what = match (&self.what, &other.what) {
            (
                What::Type { expected, actual } | What::Pattern { expected, actual },
                What::Type {
                    expected: theirs, ..
                }
                | What::Pattern {
                    expected: theirs, ..
                },
            ) => {
                let both = Type::variant(vec![expected.clone(), theirs.clone()]).normalize();
                let actual = actual.clone();
                if matches!(self.what, What::Pattern { .. }) {
                    What::Pattern {
                        expected: both,
                        actual,
                    }
                } else {
                    What::Type {
                        expected: both,
                        actual,
                    }
                }
            }
            (
                What::Size { expected, actual },
                What::Size {
                    expected: theirs, ..
                }
                | What::Count {
                    expected: theirs, ..
                },
            ) => What::Size {
                expected: widest(*expected, *theirs),
                actual: *actual,
            },
            (
                What::Count { expected, actual },
                What::Size {
                    expected: theirs, ..
                }
                | What::Count {
                    expected: theirs, ..
                },
            ) => What::Count {
                expected: widest(*expected, *theirs),
                actual: *actual,
            },
            (mine, _) => mine.clone(),
        };
        Self {
            path: self.path.clone(),
            what,
        }
    }

    /// Without one step of the path.
    pub(super) fn without_step(&self, index: usize) -> Self {
        let mut shorter = self.clone();
        if index < shorter.path.len() {
            shorter.path.remove(index);
        }
        shorter
    }
}

impl PartialEq for Mismatch {
    fn eq(&self, other: &Self) -> bool {
        self.what == other.what && self.place().eq(other.place())
    }
}

fn widest(a: IntRange, b: IntRange) -> IntRange {
    IntRange {
        from: Some(a.from.unwrap_or(0).min(b.from.unwrap_or(0))),
        to: a.to.zip(b.to).map(|(a, b)| a.max(b)),
    }
}
