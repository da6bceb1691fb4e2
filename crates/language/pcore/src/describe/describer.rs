//! Finding what does not fit: [`describe`].
//!
//! Invariant: what is asked for (`original`) is named in messages, what it means
//! (`expected`) is looked into.

use super::mismatch::{Class, Mismatch, What};
use super::path::{Step, and};
use crate::types::visit;
use crate::types::{CallableType, IntRange, Kind, StructElement, TupleType, Type};

/// Mismatches between two types; empty if `expected` accepts `actual`.
pub(super) fn describe(expected: &Type, actual: &Type, path: &[Step]) -> Vec<Mismatch> {
    let mut unresolved = None;
    visit(expected, &mut |ty| {
        if let Kind::Reference(text) = ty.kind() {
            unresolved = Some(text.to_string());
        }
        unresolved.is_none()
    });
    match unresolved {
        Some(text) => vec![Mismatch::new(path, What::Unresolved(text))],
        None => inside(&expected.normalize(), expected, actual, path),
    }
}

fn inside(expected: &Type, original: &Type, actual: &Type, path: &[Step]) -> Vec<Mismatch> {
    match expected.kind() {
        Kind::Variant(types) => variant(types, original, actual, path),
        Kind::Struct(elements) => structure(elements, original, actual, path),
        Kind::Hash { key, value, size } => hash(key, value, *size, original, actual, path),
        Kind::Tuple(tuple) => describe_tuple(tuple, expected, original, actual, path, false),
        Kind::Array { element, size } => array(element, *size, original, actual, path),
        Kind::Callable(callable) => callable_type(callable, original, actual, path),
        Kind::Optional(inner) => match inner {
            Some(inner) if !matches!(actual.kind(), Kind::Undef) => {
                let is_alias = matches!(original.kind(), Kind::Alias(_));
                let original = if is_alias { original } else { expected };
                inside(inner, original, actual, path)
            }
            _ => Vec::new(),
        },
        Kind::Pattern(_) | Kind::Enum(_) => vec![Mismatch::of_pattern(path, original, actual)],
        Kind::Alias(alias) => match alias.resolved() {
            Some(resolved) if choices_at_end(path) < CHOICES_MAX => {
                inside(&resolved.normalize(), expected, actual, path)
            }
            _ => Vec::new(),
        },
        _ if expected.is_assignable(actual) => Vec::new(),
        _ => vec![Mismatch::of_type(path, original, actual)],
    }
}

/// Maximum number of nested choices in a description without descending into an element. Each may branch, so
/// recursive types give at most 2 to the 8th lines.
const CHOICES_MAX: usize = 8;

fn choices_at_end(path: &[Step]) -> usize {
    path.iter()
        .rev()
        .take_while(|step| step.is_choice())
        .count()
}

fn variant(types: &[Type], original: &Type, actual: &Type, path: &[Step]) -> Vec<Mismatch> {
    let undef = matches!(original.kind(), Kind::Optional(_)).then(Type::undef);
    let mut found = Vec::new();
    for (index, ty) in undef.iter().chain(types).enumerate() {
        let described = describe(ty, actual, &and(path, Step::Variant(index)));
        if described.is_empty() {
            return described;
        }
        found.push(described);
    }
    let merged = merge(path.len(), Class::Size, found);
    if matches!(original.kind(), Kind::Alias(_)) && merged.len() == 1 {
        vec![Mismatch::of_type(path, original, actual)]
    } else {
        merged
    }
}

/// One mismatch of those that every choice has at the same place, or all of them.
pub(super) fn merge(choice_at: usize, size: Class, found: Vec<Vec<Mismatch>>) -> Vec<Mismatch> {
    let choices = found.len();
    let mut all: Vec<Mismatch> = found.into_iter().flatten().collect();
    for class in [
        size,
        Class::MissingBlock,
        Class::UnexpectedBlock,
        Class::Type,
    ] {
        let of_class: Vec<&Mismatch> = all.iter().filter(|one| one.is(class)).collect();
        if of_class.len() != choices {
            continue;
        }
        let Some((first, rest)) = of_class.split_first() else {
            continue;
        };
        let merged = rest.iter().try_fold((*first).clone(), |merged, next| {
            merged.place().eq(next.place()).then(|| merged.merge(next))
        });
        if let Some(merged) = merged {
            all = vec![merged];
            break;
        }
    }
    let mut unique: Vec<Mismatch> = Vec::new();
    for mismatch in all {
        // Puppet's mismatches are equal only if they are about blocks
        let about_block = matches!(mismatch.what, What::UnexpectedBlock | What::MissingBlock);
        if !about_block || !unique.contains(&mismatch) {
            unique.push(mismatch);
        }
    }
    match unique.as_slice() {
        [one] => vec![one.without_step(choice_at)],
        _ => unique,
    }
}

fn wrong_size(path: &[Step], expected: IntRange, actual: IntRange) -> Vec<Mismatch> {
    vec![Mismatch::new(path, What::Size { expected, actual })]
}

fn array(
    element: &Type,
    size: Option<IntRange>,
    original: &Type,
    actual: &Type,
    path: &[Step],
) -> Vec<Mismatch> {
    let expected_size = size.unwrap_or(IntRange::ANY_SIZE);
    match actual.kind() {
        Kind::Tuple(tuple) => {
            let actual_size = tuple
                .size
                .unwrap_or_else(|| IntRange::of_len(tuple.types.len()));
            if !expected_size.covers(actual_size) {
                return wrong_size(path, expected_size, actual_size);
            }
            let misfits = tuple.types.iter().enumerate();
            misfits
                .filter(|(_, ty)| !element.is_assignable(ty))
                .flat_map(|(index, ty)| describe(element, ty, &and(path, Step::Index(index))))
                .collect()
        }
        Kind::Array {
            element: theirs,
            size: their_size,
        } => {
            let actual_size = their_size.unwrap_or(IntRange::ANY_SIZE);
            if !expected_size.covers(actual_size) {
                return wrong_size(path, expected_size, actual_size);
            }
            let sizeless = Type::array_of(theirs.clone());
            vec![Mismatch::of_type(path, original, &sizeless)]
        }
        _ => vec![Mismatch::of_type(path, original, actual)],
    }
}

/// From the keys that must be there to all.
fn size_of_struct(elements: &[StructElement]) -> IntRange {
    let required = elements.iter().filter(|element| !element.optional).count();
    IntRange {
        from: IntRange::of_len(required).from,
        to: IntRange::of_len(elements.len()).to,
    }
}

fn key_type(element: &StructElement) -> Type {
    let name = Type::string_value(element.name.clone());
    if element.optional {
        Type::optional_of(name)
    } else {
        name
    }
}

fn hash(
    key: &Type,
    value: &Type,
    size: Option<IntRange>,
    original: &Type,
    actual: &Type,
    path: &[Step],
) -> Vec<Mismatch> {
    let expected_size = size.unwrap_or(IntRange::ANY_SIZE);
    match actual.kind() {
        Kind::Struct(elements) => {
            let actual_size = size_of_struct(elements);
            if !expected_size.covers(actual_size) {
                return wrong_size(path, expected_size, actual_size);
            }
            let mut found = Vec::new();
            for element in elements {
                let name = element.name.to_string();
                let their_key = key_type(element);
                if !key.is_assignable(&their_key) {
                    let path = and(path, Step::EntryKey(name.clone()));
                    found.extend(describe(key, &their_key, &path));
                }
                if !value.is_assignable(&element.value) {
                    let path = and(path, Step::EntryValue(name));
                    found.extend(describe(value, &element.value, &path));
                }
            }
            found
        }
        Kind::Hash {
            key: their_key,
            value: their_value,
            size: their_size,
        } => {
            let actual_size = their_size.unwrap_or(IntRange::ANY_SIZE);
            if !expected_size.covers(actual_size) {
                return wrong_size(path, expected_size, actual_size);
            }
            let sizeless = Type::hash_of(their_key.clone(), their_value.clone());
            vec![Mismatch::of_type(path, original, &sizeless)]
        }
        _ => vec![Mismatch::of_type(path, original, actual)],
    }
}

fn structure(
    elements: &[StructElement],
    original: &Type,
    actual: &Type,
    path: &[Step],
) -> Vec<Mismatch> {
    match actual.kind() {
        Kind::Struct(others) => struct_of_struct(elements, others, path),
        Kind::Hash { key, value, size } => {
            let expected_size = size_of_struct(elements);
            let actual_size = size.unwrap_or(IntRange::ANY_SIZE);
            if !expected_size.covers(actual_size) {
                return wrong_size(path, expected_size, actual_size);
            }
            let sizeless = Type::hash_of(key.clone(), value.clone());
            vec![Mismatch::of_type(path, original, &sizeless)]
        }
        _ => vec![Mismatch::of_type(path, original, actual)],
    }
}

fn struct_of_struct(
    elements: &[StructElement],
    others: &[StructElement],
    path: &[Step],
) -> Vec<Mismatch> {
    let mut found = Vec::new();
    for mine in elements {
        let name = mine.name.to_string();
        let Some(theirs) = others.iter().rfind(|theirs| theirs.name == mine.name) else {
            if !mine.optional {
                found.push(Mismatch::new(path, What::MissingKey(name)));
            }
            continue;
        };
        let (my_key, their_key) = (key_type(mine), key_type(theirs));
        if !my_key.is_assignable(&their_key) {
            let path = and(path, Step::EntryKey(name.clone()));
            found.extend(describe(&my_key, &their_key, &path));
        }
        if !mine.value.is_assignable(&theirs.value) {
            let path = and(path, Step::EntryValue(name));
            found.extend(describe(&mine.value, &theirs.value, &path));
        }
    }
    let is_known = |name: &str| elements.iter().any(|mine| &*mine.name == name);
    found.extend(
        others
            .iter()
            .filter(|theirs| !is_known(&theirs.name))
            .map(|theirs| Mismatch::new(path, What::ExtraneousKey(theirs.name.to_string()))),
    );
    found
}

fn describe_tuple(
    tuple: &TupleType,
    expected: &Type,
    original: &Type,
    actual: &Type,
    path: &[Step],
    arguments: bool,
) -> Vec<Mismatch> {
    let is_array = matches!(actual.kind(), Kind::Array { .. });
    if expected == actual || (tuple.types.is_empty() && is_array) {
        return Vec::new();
    }
    let expected_size = tuple.size_range();
    let misfit = |actual_size: IntRange| {
        let (expected, actual) = (expected_size, actual_size);
        let what = if arguments {
            What::Count { expected, actual }
        } else {
            What::Size { expected, actual }
        };
        vec![Mismatch::new(path, what)]
    };
    match actual.kind() {
        Kind::Tuple(theirs) => {
            if !expected_size.covers(theirs.size_range()) {
                return misfit(theirs.size_range());
            }
            let last = tuple.types.len().saturating_sub(1);
            theirs
                .types
                .iter()
                .enumerate()
                .flat_map(|(index, other)| {
                    let index = index.min(last);
                    tuple.types.get(index).map_or_else(Vec::new, |mine| {
                        describe(mine, other, &and(path, Step::Index(index)))
                    })
                })
                .collect()
        }
        Kind::Array { element, size } => {
            let actual_size = size.unwrap_or(IntRange::ANY_SIZE);
            if !expected_size.covers(actual_size) {
                return misfit(actual_size);
            }
            let places = tuple.types.iter().enumerate();
            places
                .flat_map(|(index, mine)| describe(mine, element, &and(path, Step::Index(index))))
                .collect()
        }
        _ => vec![Mismatch::of_type(path, original, actual)],
    }
}

fn callable_type(
    expected: &CallableType,
    original: &Type,
    actual: &Type,
    path: &[Step],
) -> Vec<Mismatch> {
    let Kind::Callable(theirs) = actual.kind() else {
        return vec![Mismatch::of_type(path, original, actual)];
    };
    if expected.parameters.is_none() && expected.returns.is_none() {
        return Vec::new();
    }
    if let (Some(mine), Some(their_parameters)) = (&expected.parameters, &theirs.parameters) {
        let mine_type = Type::from(Kind::Tuple(mine.clone()));
        let their_type = Type::from(Kind::Tuple(their_parameters.clone()));
        let found = describe_tuple(mine, &mine_type, &mine_type, &their_type, path, true);
        if !found.is_empty() {
            return found;
        }
    }
    let returns = |callable: &CallableType| callable.returns.clone().unwrap_or_else(Type::any);
    let (mine, their_return) = (returns(expected), returns(theirs));
    if !mine.is_assignable(&their_return) {
        let path = and(path, Step::Return);
        return vec![Mismatch::of_type(&path, &mine, &their_return)];
    }
    let block = |callable: &CallableType| callable.block.clone().unwrap_or_else(Type::undef);
    let (mine, their_block) = (block(expected), block(theirs));
    if their_block.is_assignable(&mine) {
        return Vec::new();
    }
    vec![Mismatch::of_type(
        &and(path, Step::Block),
        &mine,
        &their_block,
    )]
}
