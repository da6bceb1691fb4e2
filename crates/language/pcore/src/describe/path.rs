//! Path to a mismatch inside a type. Main type: [`MismatchPathStep`].

use std::fmt;

/// A step of the path to a mismatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MismatchPathStep {
    Subject(String),
    EntryValue(String),
    EntryKey(String),
    Parameter(String),
    Return,
    Block,
    Index(usize),
    Variant(usize),
    Signature(usize),
}

impl MismatchPathStep {
    /// True for a choice among alternatives, which is ignored when positions are compared.
    pub(super) fn is_choice(&self) -> bool {
        matches!(self, Self::Variant(_) | Self::Signature(_))
    }
}

impl fmt::Display for MismatchPathStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Subject(name) => f.write_str(name),
            Self::EntryValue(key) => write!(f, "entry '{key}'"),
            Self::EntryKey(key) => write!(f, "key of entry '{key}'"),
            Self::Parameter(name) => write!(f, "parameter '{name}'"),
            Self::Return => f.write_str("return"),
            Self::Block => f.write_str("block"),
            Self::Index(index) => write!(f, "index {index}"),
            Self::Variant(index) => write!(f, "variant {index}"),
            Self::Signature(index) => write!(f, "{}.", index + 1),
        }
    }
}

/// The path with one more step.
pub(super) fn extend_path(
    path: &[MismatchPathStep],
    step: MismatchPathStep,
) -> Vec<MismatchPathStep> {
    let mut longer = path.to_vec();
    longer.push(step);
    longer
}
