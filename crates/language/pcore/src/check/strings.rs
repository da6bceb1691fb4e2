//! Assignability of strings, enums and patterns.
//!
//! Invariant: lengths are counted in characters.

use crate::types::{EnumType, IntRange, StringType, Type, TypeKind};
use crate::value::Regexp;

pub(super) fn assignable(ty: &Type, other: &Type) -> bool {
    match ty.kind() {
        TypeKind::String(StringType::Size(size)) => takes_size(*size, other),
        TypeKind::String(StringType::Any) => matches!(
            other.kind(),
            TypeKind::String(_) | TypeKind::Enum(_) | TypeKind::Pattern(_)
        ),
        TypeKind::String(StringType::Value(text)) => match other.kind() {
            TypeKind::String(StringType::Value(theirs)) => text == theirs,
            // Puppet does not compare the single text of the Enum
            TypeKind::Enum(theirs) => theirs.values().len() == 1 && !theirs.ignores_case(),
            _ => false,
        },
        TypeKind::Enum(mine) => enumeration(mine, other),
        TypeKind::Pattern(patterns) => ty == other || pattern(patterns, other),
        TypeKind::Regexp(None) => matches!(other.kind(), TypeKind::Regexp(_)),
        TypeKind::Regexp(mine) => {
            matches!(other.kind(), TypeKind::Regexp(theirs) if theirs == mine)
        }
        _ => false,
    }
}

fn takes_size(size: IntRange, other: &Type) -> bool {
    match other.kind() {
        TypeKind::String(theirs) => size.covers(theirs.size_range()),
        TypeKind::Enum(theirs) => match size_of_all(theirs) {
            Some(range) => size.covers(range),
            None => size.covers(IntRange::ANY_SIZE),
        },
        TypeKind::Pattern(_) => size.covers(IntRange::ANY_SIZE),
        _ => false,
    }
}

/// The range of lengths of the texts; `None` if there are none.
pub(super) fn size_of_all(texts: &EnumType) -> Option<IntRange> {
    let lengths = || texts.values().iter().map(|text| char_count(text));
    Some(IntRange {
        from: Some(lengths().min()?),
        to: Some(lengths().max()?),
    })
}

fn enumeration(mine: &EnumType, other: &Type) -> bool {
    match other.kind() {
        TypeKind::String(_) | TypeKind::Pattern(_) if mine.values().is_empty() => true,
        TypeKind::String(StringType::Value(text)) => mine.contains(text),
        TypeKind::Enum(theirs) => {
            mine == theirs
                || mine.values().is_empty()
                || (!theirs.values().is_empty()
                    && (mine.ignores_case() || !theirs.ignores_case())
                    && theirs.values().iter().all(|text| mine.contains(text)))
        }
        _ => false,
    }
}

fn pattern(patterns: &[Regexp], other: &Type) -> bool {
    if patterns.is_empty() {
        return matches!(
            other.kind(),
            TypeKind::String(_) | TypeKind::Enum(_) | TypeKind::Pattern(_)
        );
    }
    match other.kind() {
        TypeKind::String(StringType::Value(text)) => matches_any(patterns, text),
        TypeKind::Enum(theirs) => {
            !theirs.values().is_empty()
                && theirs
                    .values()
                    .iter()
                    .all(|text| matches_any(patterns, text))
        }
        _ => false,
    }
}

pub(super) fn matches_any(patterns: &[Regexp], text: &str) -> bool {
    patterns.iter().any(|pattern| pattern.is_match(text))
}

impl StringType {
    /// The range of lengths of the type's strings.
    pub(crate) fn size_range(&self) -> IntRange {
        match self {
            Self::Any => IntRange::ANY_SIZE,
            Self::Size(size) => *size,
            Self::Value(text) => IntRange::exactly(char_count(text)),
        }
    }
}

pub(super) fn char_count(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}
