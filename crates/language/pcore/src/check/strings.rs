//! Which types of strings take which.
//!
//! Invariant: lengths are counted in characters.

use crate::types::{EnumType, IntRange, Kind, StringType, Type};
use crate::value::Regexp;

pub(super) fn assignable(ty: &Type, other: &Type) -> bool {
    match ty.kind() {
        Kind::String(StringType::Size(size)) => sized(*size, other),
        Kind::String(StringType::Any) => matches!(
            other.kind(),
            Kind::String(_) | Kind::Enum(_) | Kind::Pattern(_)
        ),
        Kind::String(StringType::Value(text)) => match other.kind() {
            Kind::String(StringType::Value(theirs)) => text == theirs,
            // Puppet does not look which one text the Enum has
            Kind::Enum(theirs) => theirs.values().len() == 1 && !theirs.ignores_case(),
            _ => false,
        },
        Kind::Enum(mine) => enumeration(mine, other),
        Kind::Pattern(patterns) => ty == other || pattern(patterns, other),
        Kind::Regexp(None) => matches!(other.kind(), Kind::Regexp(_)),
        Kind::Regexp(mine) => matches!(other.kind(), Kind::Regexp(theirs) if theirs == mine),
        _ => false,
    }
}

fn sized(size: IntRange, other: &Type) -> bool {
    match other.kind() {
        Kind::String(theirs) => size.covers(theirs.size_range()),
        Kind::Enum(theirs) => match size_of_all(theirs) {
            Some(range) => size.covers(range),
            None => size.covers(IntRange::ANY_SIZE),
        },
        Kind::Pattern(_) => size.covers(IntRange::ANY_SIZE),
        _ => false,
    }
}

/// From the shortest to the longest text; `None` without texts.
pub(super) fn size_of_all(texts: &EnumType) -> Option<IntRange> {
    let lengths = || texts.values().iter().map(|text| char_count(text));
    Some(IntRange {
        from: Some(lengths().min()?),
        to: Some(lengths().max()?),
    })
}

fn enumeration(mine: &EnumType, other: &Type) -> bool {
    match other.kind() {
        Kind::String(_) | Kind::Pattern(_) if mine.values().is_empty() => true,
        Kind::String(StringType::Value(text)) => mine.contains(text),
        Kind::Enum(theirs) => {
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
            Kind::String(_) | Kind::Enum(_) | Kind::Pattern(_)
        );
    }
    match other.kind() {
        Kind::String(StringType::Value(text)) => matches_any(patterns, text),
        Kind::Enum(theirs) => {
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
    /// The lengths that its strings have.
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
