//! Merging of the types in one `Variant`: strings, patterns, version ranges, numbers, times.
//!
//! Invariant: merged types are at the position where Puppet puts them, since the order is printed.

use std::sync::Arc;

use crate::types::{EnumType, FloatRange, IntRange, StringType, TimeRange, Type, TypeKind};
use crate::value::{Regexp, SemVerRange};

/// All merges, in Puppet's order.
pub(super) fn merge_types(types: Vec<Type>) -> Vec<Type> {
    let types = merge_not_undefs(types);
    let types = enums(types);
    let types = enums_without_case(types);
    let types = patterns(types);
    let types = versions(types);
    let types = ranges(types, |a, b| match (a.kind(), b.kind()) {
        (TypeKind::Integer(a), TypeKind::Integer(b)) => {
            Some(join_ints(*a, *b).map(Type::integer_in))
        }
        _ => None,
    });
    let types = ranges(types, |a, b| match (a.kind(), b.kind()) {
        (TypeKind::Float(a), TypeKind::Float(b)) => Some(join_floats(*a, *b).map(Type::float_in)),
        _ => None,
    });
    let types = ranges(types, |a, b| match (a.kind(), b.kind()) {
        (TypeKind::Timespan(a), TypeKind::Timespan(b)) => {
            Some(join_times(*a, *b).map(|range| TypeKind::Timespan(range).into()))
        }
        _ => None,
    });
    ranges(types, |a, b| match (a.kind(), b.kind()) {
        (TypeKind::Timestamp(a), TypeKind::Timestamp(b)) => {
            Some(join_times(*a, *b).map(|range| TypeKind::Timestamp(range).into()))
        }
        _ => None,
    })
}

/// Replaces the chosen types, if there are at least two, by one merged type at the end.
fn merge_chosen(
    types: Vec<Type>,
    chosen: impl Fn(&Type) -> bool,
    merge: impl FnOnce(&[Type]) -> Type,
) -> Vec<Type> {
    if types.iter().filter(|ty| chosen(ty)).count() < 2 {
        return types;
    }
    let (parts, mut rest): (Vec<Type>, Vec<Type>) = types.into_iter().partition(chosen);
    rest.push(merge(&parts));
    rest
}

fn merge_not_undefs(types: Vec<Type>) -> Vec<Type> {
    merge_chosen(
        types,
        |ty| matches!(ty.kind(), TypeKind::NotUndef(_)),
        |parts| {
            let inner = parts
                .iter()
                .map(|ty| match ty.kind() {
                    TypeKind::NotUndef(Some(inner)) => inner.clone(),
                    _ => Type::any(),
                })
                .collect();
            Type::not_undef_of(Type::variant(inner).normalize())
        },
    )
}

fn enums(types: Vec<Type>) -> Vec<Type> {
    merge_chosen(
        types,
        |ty| match ty.kind() {
            TypeKind::Enum(texts) => !texts.values().is_empty() && !texts.ignores_case(),
            TypeKind::String(StringType::Value(_)) => true,
            _ => false,
        },
        |parts| TypeKind::Enum(EnumType::new(parts.iter().flat_map(texts_of), false)).into(),
    )
}

fn enums_without_case(types: Vec<Type>) -> Vec<Type> {
    merge_chosen(
        types,
        |ty| match ty.kind() {
            TypeKind::Enum(texts) => !texts.values().is_empty() && texts.ignores_case(),
            _ => false,
        },
        |parts| {
            let lower = parts
                .iter()
                .flat_map(texts_of)
                .map(|text| Arc::from(text.to_lowercase()));
            TypeKind::Enum(EnumType::new(lower, true)).into()
        },
    )
}

fn texts_of(ty: &Type) -> Vec<Arc<str>> {
    match ty.kind() {
        TypeKind::Enum(texts) => texts.values().to_vec(),
        TypeKind::String(StringType::Value(text)) => vec![text.clone()],
        _ => Vec::new(),
    }
}

fn patterns(types: Vec<Type>) -> Vec<Type> {
    merge_chosen(
        types,
        |ty| matches!(ty.kind(), TypeKind::Pattern(_)),
        |parts| {
            let mut all: Vec<Regexp> = Vec::new();
            for ty in parts {
                if let TypeKind::Pattern(patterns) = ty.kind() {
                    for pattern in patterns {
                        if !all.contains(pattern) {
                            all.push(pattern.clone());
                        }
                    }
                }
            }
            Type::pattern(all)
        },
    )
}

fn versions(types: Vec<Type>) -> Vec<Type> {
    let is_version = |ty: &Type| matches!(ty.kind(), TypeKind::SemVer(_));
    if types.iter().filter(|ty| is_version(ty)).count() < 2 {
        return types;
    }
    let (parts, rest): (Vec<Type>, Vec<Type>) = types.into_iter().partition(is_version);
    let ranges = parts
        .iter()
        .flat_map(|ty| match ty.kind() {
            TypeKind::SemVer(ranges) => ranges.clone(),
            _ => Vec::new(),
        })
        .collect();
    let merged = TypeKind::SemVer(SemVerRange::merge_all(ranges)).into();
    std::iter::once(merged).chain(rest).collect()
}

/// Merges ranges of one kind and puts them first. `join` returns `None` for types of another kind
/// and `Some(None)` for disjoint ranges.
fn ranges(types: Vec<Type>, join: impl Fn(&Type, &Type) -> Option<Option<Type>>) -> Vec<Type> {
    let is_range = |ty: &Type| join(ty, ty).is_some();
    if types.iter().filter(|ty| is_range(ty)).count() < 2 {
        return types;
    }
    let (mut parts, rest): (Vec<Type>, Vec<Type>) = types.into_iter().partition(is_range);
    let mut merged = Vec::new();
    while let Some(last) = parts.pop() {
        let mut joined = last;
        let mut apart = Vec::new();
        for part in parts {
            match join(&joined, &part).flatten() {
                Some(range) => joined = range,
                None => apart.push(part),
            }
        }
        merged.push(joined);
        parts = apart;
    }
    merged.extend(rest);
    merged
}

/// One range that covers two, if they overlap or touch.
fn join_ints(a: IntRange, b: IntRange) -> Option<IntRange> {
    let before = |low: IntRange, high: IntRange| match (low.to, high.from) {
        (Some(to), Some(from)) => to < from && to.checked_add(1) != Some(from),
        _ => false,
    };
    if before(a, b) || before(b, a) {
        return None;
    }
    Some(IntRange {
        from: a.from.zip(b.from).map(|(a, b)| a.min(b)),
        to: a.to.zip(b.to).map(|(a, b)| a.max(b)),
    })
}

fn join_floats(a: FloatRange, b: FloatRange) -> Option<FloatRange> {
    if a.upper_bound() < b.lower_bound() || b.upper_bound() < a.lower_bound() {
        return None;
    }
    Some(FloatRange {
        from: a.from.zip(b.from).map(|(a, b)| a.min(b)),
        to: a.to.zip(b.to).map(|(a, b)| a.max(b)),
    })
}

fn join_times<T: Copy + Ord>(a: TimeRange<T>, b: TimeRange<T>) -> Option<TimeRange<T>> {
    let before = |low: TimeRange<T>, high: TimeRange<T>| match (low.to, high.from) {
        (Some(to), Some(from)) => to < from,
        _ => false,
    };
    if before(a, b) || before(b, a) {
        return None;
    }
    Some(TimeRange {
        from: a.from.zip(b.from).map(|(a, b)| a.min(b)),
        to: a.to.zip(b.to).map(|(a, b)| a.max(b)),
    })
}
