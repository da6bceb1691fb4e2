//! Assignability of lists, hashes and iterables.

use super::recursion_trail::TypeCheckTrail;
use crate::types::{IntRange, StructElement, TupleType, Type, TypeKind};
use crate::value::Value;

pub(super) fn assignable(ty: &Type, other: &Type, trail: &mut TypeCheckTrail<'_>) -> bool {
    match ty.kind() {
        TypeKind::Collection(size) => {
            let size = size.unwrap_or(IntRange::ANY_SIZE);
            size_of(other).is_some_and(|theirs| size.covers(theirs))
        }
        TypeKind::Array { element, size } => {
            let size = size.unwrap_or(IntRange::ANY_SIZE);
            array(element, size, other, trail)
        }
        TypeKind::Hash { key, value, size } => hash(key, value, *size, other, trail),
        TypeKind::Tuple(tuple) => ty == other || tuple_takes(tuple, other, trail),
        TypeKind::Struct(elements) => structure(elements, other, trail),
        TypeKind::Iterable(element) => iterable(element.as_ref(), other, trail),
        TypeKind::Iterator(element) => match other.kind() {
            TypeKind::Iterator(theirs) => element.as_ref().is_none_or(|element| {
                theirs.as_ref().is_some_and(|theirs| {
                    element.is_assignable_within(theirs, &mut trail.enter_element())
                })
            }),
            _ => false,
        },
        _ => false,
    }
}

/// The size of a collection type, as `Collection` counts it: a `Struct` has all its keys.
fn size_of(ty: &Type) -> Option<IntRange> {
    match ty.kind() {
        TypeKind::Collection(size) | TypeKind::Array { size, .. } | TypeKind::Hash { size, .. } => {
            Some(size.unwrap_or(IntRange::ANY_SIZE))
        }
        TypeKind::Tuple(tuple) => Some(tuple_size(tuple)),
        TypeKind::Struct(elements) => Some(IntRange::of_len(elements.len())),
        _ => None,
    }
}

/// The size of a tuple as a collection; a tuple without types has none.
fn tuple_size(tuple: &TupleType) -> IntRange {
    tuple
        .size
        .unwrap_or_else(|| IntRange::of_len(tuple.types.len()))
}

fn array(element: &Type, size: IntRange, other: &Type, trail: &mut TypeCheckTrail<'_>) -> bool {
    match other.kind() {
        TypeKind::Tuple(tuple) => {
            size.covers(tuple_size(tuple))
                && tuple
                    .types
                    .iter()
                    .all(|theirs| element.is_assignable_within(theirs, &mut trail.enter_element()))
        }
        TypeKind::Array {
            element: theirs,
            size: their_size,
        } => {
            size.covers(their_size.unwrap_or(IntRange::ANY_SIZE))
                && element.is_assignable_within(theirs, &mut trail.enter_element())
        }
        _ => false,
    }
}

fn hash(
    key: &Type,
    value: &Type,
    size: Option<IntRange>,
    other: &Type,
    trail: &mut TypeCheckTrail<'_>,
) -> bool {
    let range = size.unwrap_or(IntRange::ANY_SIZE);
    match other.kind() {
        TypeKind::Hash {
            key: their_key,
            value: their_value,
            size: their_size,
        } => {
            if range.from == Some(0) && is_empty_hash(other) {
                return true;
            }
            key.is_assignable_within(their_key, &mut trail.enter_element())
                && value.is_assignable_within(their_value, &mut trail.enter_element())
                && range.covers(their_size.unwrap_or(IntRange::ANY_SIZE))
        }
        TypeKind::Struct(elements) => {
            range.contains_len(elements.len())
                && elements.iter().all(|theirs| {
                    let name = Value::Str(theirs.name.clone());
                    key.is_instance_within(&name, &mut trail.enter_element())
                        && value.is_assignable_within(&theirs.value, &mut trail.enter_element())
                })
        }
        _ => false,
    }
}

/// True for the type that is inferred for `{}`.
pub(super) fn is_empty_hash(ty: &Type) -> bool {
    matches!(
        ty.kind(),
        TypeKind::Hash { key, value, size: Some(IntRange::EMPTY) }
            if matches!(key.kind(), TypeKind::Unit) && matches!(value.kind(), TypeKind::Unit)
    )
}

fn tuple_takes(tuple: &TupleType, other: &Type, trail: &mut TypeCheckTrail<'_>) -> bool {
    match other.kind() {
        TypeKind::Tuple(theirs) => tuple_takes_tuple(tuple, theirs, trail),
        TypeKind::Array { element, size } => {
            let their_size = size.unwrap_or(IntRange::ANY_SIZE);
            if !tuple.size_range().covers(their_size) {
                return false;
            }
            let most = their_size.to.map_or(usize::MAX, as_len);
            tuple
                .types
                .iter()
                .take(most)
                .all(|mine| mine.is_assignable_within(element, &mut trail.enter_element()))
        }
        _ => false,
    }
}

pub(super) fn tuple_takes_tuple(
    tuple: &TupleType,
    theirs: &TupleType,
    trail: &mut TypeCheckTrail<'_>,
) -> bool {
    if tuple == theirs {
        return true;
    }
    let size = tuple.size_range();
    if !size.covers(theirs.size_range()) {
        return false;
    }
    if tuple.types.is_empty() {
        return true;
    }
    if theirs.types.is_empty() {
        return size.from == Some(0);
    }
    theirs.types.iter().enumerate().all(|(index, other)| {
        tuple
            .type_at(index)
            .is_some_and(|mine| mine.is_assignable_within(other, &mut trail.enter_element()))
    })
}

fn as_len(size: i64) -> usize {
    usize::try_from(size).unwrap_or(0)
}

fn structure(elements: &[StructElement], other: &Type, trail: &mut TypeCheckTrail<'_>) -> bool {
    match other.kind() {
        TypeKind::Struct(others) => {
            let mut matched = 0;
            elements.iter().all(|mine| {
                let Some(theirs) = others.iter().rfind(|theirs| theirs.name == mine.name) else {
                    return mine.optional;
                };
                matched += 1;
                (mine.optional || !theirs.optional)
                    && mine
                        .value
                        .is_assignable_within(&theirs.value, &mut trail.enter_element())
            }) && matched == others.len()
        }
        TypeKind::Hash { key, value, size } => {
            let required = elements.iter().filter(|element| !element.optional);
            let range = IntRange {
                from: IntRange::of_len(required.clone().count()).from,
                to: IntRange::of_len(elements.len()).to,
            };
            required.into_iter().all(|element| {
                element
                    .value
                    .is_assignable_within(value, &mut trail.enter_element())
                    && Type::string().is_assignable_within(key, &mut trail.unguarded())
            }) && range.covers(size.unwrap_or(IntRange::ANY_SIZE))
        }
        _ => false,
    }
}

fn iterable(element: Option<&Type>, other: &Type, trail: &mut TypeCheckTrail<'_>) -> bool {
    match element {
        Some(element)
            if !element.is_assignable_within(&Type::any(), &mut trail.enter_element()) =>
        {
            match other.iterated() {
                Some(Some(theirs)) => {
                    element.is_assignable_within(&theirs, &mut trail.enter_element())
                }
                _ => false,
            }
        }
        _ => other.is_iterable(),
    }
}
