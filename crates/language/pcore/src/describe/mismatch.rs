//! A single type mismatch. Main type: [`TypeMismatchDetail`].
//!
//! Invariant: the position of a mismatch does not depend on the choice that led to it.

use super::path::MismatchPathStep;
use crate::types::{IntRange, Type};

/// A mismatch and its position.
#[derive(Debug, Clone)]
pub(super) struct TypeMismatchDetail {
    pub(super) path: Vec<MismatchPathStep>,
    pub(super) kind: MismatchKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MismatchKind {
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

/// The classes of mismatches that are merged if every choice has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MismatchClass {
    Size,
    Count,
    MissingBlock,
    UnexpectedBlock,
    Type,
}

impl TypeMismatchDetail {
    pub(super) fn new(path: &[MismatchPathStep], what: MismatchKind) -> Self {
        Self {
            path: path.to_vec(),
            kind: what,
        }
    }

    pub(super) fn of_type(path: &[MismatchPathStep], expected: &Type, actual: &Type) -> Self {
        Self::new(
            path,
            MismatchKind::Type {
                expected: expected.normalize(),
                actual: actual.normalize(),
            },
        )
    }

    pub(super) fn of_pattern(path: &[MismatchPathStep], expected: &Type, actual: &Type) -> Self {
        Self::new(
            path,
            MismatchKind::Pattern {
                expected: expected.normalize(),
                actual: actual.normalize(),
            },
        )
    }

    /// The position without the choices that led to it.
    pub(super) fn location(&self) -> impl Iterator<Item = &MismatchPathStep> {
        self.path.iter().filter(|step| !step.is_choice())
    }

    pub(super) fn is_class(&self, class: MismatchClass) -> bool {
        match class {
            MismatchClass::Size => matches!(
                self.kind,
                MismatchKind::Size { .. } | MismatchKind::Count { .. }
            ),
            MismatchClass::Count => matches!(self.kind, MismatchKind::Count { .. }),
            MismatchClass::MissingBlock => matches!(self.kind, MismatchKind::MissingBlock),
            MismatchClass::UnexpectedBlock => matches!(self.kind, MismatchKind::UnexpectedBlock),
            MismatchClass::Type => matches!(
                self.kind,
                MismatchKind::Type { .. } | MismatchKind::Pattern { .. }
            ),
        }
    }

    /// Combines two mismatches at the same position.
    pub(super) fn merge(&self, other: &Self) -> Self {
        let what = match (&self.kind, &other.kind) {
            (
                MismatchKind::Type { expected, actual }
                | MismatchKind::Pattern { expected, actual },
                MismatchKind::Type {
                    expected: theirs, ..
                }
                | MismatchKind::Pattern {
                    expected: theirs, ..
                },
            ) => {
                let both = Type::variant(vec![expected.clone(), theirs.clone()]).normalize();
                let actual = actual.clone();
                if matches!(self.kind, MismatchKind::Pattern { .. }) {
                    MismatchKind::Pattern {
                        expected: both,
                        actual,
                    }
                } else {
                    MismatchKind::Type {
                        expected: both,
                        actual,
                    }
                }
            }
            (
                MismatchKind::Size { expected, actual },
                MismatchKind::Size {
                    expected: theirs, ..
                }
                | MismatchKind::Count {
                    expected: theirs, ..
                },
            ) => MismatchKind::Size {
                expected: widest(*expected, *theirs),
                actual: *actual,
            },
            (
                MismatchKind::Count { expected, actual },
                MismatchKind::Size {
                    expected: theirs, ..
                }
                | MismatchKind::Count {
                    expected: theirs, ..
                },
            ) => MismatchKind::Count {
                expected: widest(*expected, *theirs),
                actual: *actual,
            },
            (mine, _) => mine.clone(),
        };
        Self {
            path: self.path.clone(),
            kind: what,
        }
    }

    /// The mismatch without one step of its path.
    pub(super) fn without_step(&self, index: usize) -> Self {
        let mut shorter = self.clone();
        if index < shorter.path.len() {
            shorter.path.remove(index);
        }
        shorter
    }
}

impl PartialEq for TypeMismatchDetail {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.location().eq(other.location())
    }
}

fn widest(a: IntRange, b: IntRange) -> IntRange {
    IntRange {
        from: Some(a.from.unwrap_or(0).min(b.from.unwrap_or(0))),
        to: a.to.zip(b.to).map(|(a, b)| a.max(b)),
    }
}
