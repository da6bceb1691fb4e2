//! Search for the mismatches between two types: [`describe`].
//!
//! Invariant: messages name the type as written (`original`); its resolved form (`expected`) is
//! compared.

use super::mismatch::{MismatchClass, MismatchKind, TypeMismatchDetail};
use super::path::{MismatchPathStep, extend_path};
use crate::types::visit;
use crate::types::{CallableType, IntRange, StructElement, TupleType, Type, TypeKind};

/// Mismatches between two types; empty if `expected` accepts `actual`.
pub(super) fn describe(
    expected: &Type,
    actual: &Type,
    path: &[MismatchPathStep],
) -> Vec<TypeMismatchDetail> {
    let mut unresolved = None;
    visit(expected, &mut |ty| {
        if let TypeKind::Reference(text) = ty.kind() {
            unresolved = Some(text.to_string());
        }
        unresolved.is_none()
    });
    match unresolved {
        Some(text) => vec![TypeMismatchDetail::new(
            path,
            MismatchKind::Unresolved(text),
        )],
        None => inside(&expected.normalize(), expected, actual, path),
    }
}

fn inside(
    expected: &Type,
    original: &Type,
    actual: &Type,
    path: &[MismatchPathStep],
) -> Vec<TypeMismatchDetail> {
    match expected.kind() {
        TypeKind::Variant(types) => variant(types, original, actual, path),
        TypeKind::Struct(elements) => structure(elements, original, actual, path),
        TypeKind::Hash { key, value, size } => hash(key, value, *size, original, actual, path),
        TypeKind::Tuple(tuple) => describe_tuple(tuple, expected, original, actual, path, false),
        TypeKind::Array { element, size } => array(element, *size, original, actual, path),
        TypeKind::Callable(callable) => callable_type(callable, original, actual, path),
        TypeKind::Optional(inner) => match inner {
            Some(inner) if !matches!(actual.kind(), TypeKind::Undef) => {
                let is_alias = matches!(original.kind(), TypeKind::Alias(_));
                let original = if is_alias { original } else { expected };
                inside(inner, original, actual, path)
            }
            _ => Vec::new(),
        },
        TypeKind::Pattern(_) | TypeKind::Enum(_) => {
            vec![TypeMismatchDetail::of_pattern(path, original, actual)]
        }
        TypeKind::Alias(alias) => match alias.resolved() {
            Some(resolved) if choices_at_end(path) < CHOICES_MAX => {
                inside(&resolved.normalize(), expected, actual, path)
            }
            _ => Vec::new(),
        },
        _ if expected.is_assignable(actual) => Vec::new(),
        _ => vec![TypeMismatchDetail::of_type(path, original, actual)],
    }
}

/// Maximum number of nested choices in a description without descending into an element. Each may
/// branch, so recursive types result in at most 2 to the 8th lines.
const CHOICES_MAX: usize = 8;

fn choices_at_end(path: &[MismatchPathStep]) -> usize {
    path.iter()
        .rev()
        .take_while(|step| step.is_choice())
        .count()
}

fn variant(
    types: &[Type],
    original: &Type,
    actual: &Type,
    path: &[MismatchPathStep],
) -> Vec<TypeMismatchDetail> {
    let undef = matches!(original.kind(), TypeKind::Optional(_)).then(Type::undef);
    let mut found = Vec::new();
    for (index, ty) in undef.iter().chain(types).enumerate() {
        let described = describe(
            ty,
            actual,
            &extend_path(path, MismatchPathStep::Variant(index)),
        );
        if described.is_empty() {
            return described;
        }
        found.push(described);
    }
    let merged = merge(path.len(), MismatchClass::Size, found);
    if matches!(original.kind(), TypeKind::Alias(_)) && merged.len() == 1 {
        vec![TypeMismatchDetail::of_type(path, original, actual)]
    } else {
        merged
    }
}

/// One merged mismatch if every choice has one of the same class at the same position; otherwise
/// all of them.
pub(super) fn merge(
    choice_at: usize,
    size: MismatchClass,
    found: Vec<Vec<TypeMismatchDetail>>,
) -> Vec<TypeMismatchDetail> {
    let choices = found.len();
    let mut all: Vec<TypeMismatchDetail> = found.into_iter().flatten().collect();
    for class in [
        size,
        MismatchClass::MissingBlock,
        MismatchClass::UnexpectedBlock,
        MismatchClass::Type,
    ] {
        let of_class: Vec<&TypeMismatchDetail> =
            all.iter().filter(|one| one.is_class(class)).collect();
        if of_class.len() != choices {
            continue;
        }
        let Some((first, rest)) = of_class.split_first() else {
            continue;
        };
        let merged = rest.iter().try_fold((*first).clone(), |merged, next| {
            merged
                .location()
                .eq(next.location())
                .then(|| merged.merge(next))
        });
        if let Some(merged) = merged {
            all = vec![merged];
            break;
        }
    }
    let mut unique: Vec<TypeMismatchDetail> = Vec::new();
    for mismatch in all {
        // Puppet's mismatches are equal only if they are about blocks
        let about_block = matches!(
            mismatch.kind,
            MismatchKind::UnexpectedBlock | MismatchKind::MissingBlock
        );
        if !about_block || !unique.contains(&mismatch) {
            unique.push(mismatch);
        }
    }
    match unique.as_slice() {
        [one] => vec![one.without_step(choice_at)],
        _ => unique,
    }
}

fn wrong_size(
    path: &[MismatchPathStep],
    expected: IntRange,
    actual: IntRange,
) -> Vec<TypeMismatchDetail> {
    vec![TypeMismatchDetail::new(
        path,
        MismatchKind::Size { expected, actual },
    )]
}

fn array(
    element: &Type,
    size: Option<IntRange>,
    original: &Type,
    actual: &Type,
    path: &[MismatchPathStep],
) -> Vec<TypeMismatchDetail> {
    let expected_size = size.unwrap_or(IntRange::ANY_SIZE);
    match actual.kind() {
        TypeKind::Tuple(tuple) => {
            let actual_size = tuple
                .size
                .unwrap_or_else(|| IntRange::of_len(tuple.types.len()));
            if !expected_size.covers(actual_size) {
                return wrong_size(path, expected_size, actual_size);
            }
            let misfits = tuple.types.iter().enumerate();
            misfits
                .filter(|(_, ty)| !element.is_assignable(ty))
                .flat_map(|(index, ty)| {
                    describe(
                        element,
                        ty,
                        &extend_path(path, MismatchPathStep::Index(index)),
                    )
                })
                .collect()
        }
        TypeKind::Array {
            element: theirs,
            size: their_size,
        } => {
            let actual_size = their_size.unwrap_or(IntRange::ANY_SIZE);
            if !expected_size.covers(actual_size) {
                return wrong_size(path, expected_size, actual_size);
            }
            let sizeless = Type::array_of(theirs.clone());
            vec![TypeMismatchDetail::of_type(path, original, &sizeless)]
        }
        _ => vec![TypeMismatchDetail::of_type(path, original, actual)],
    }
}

/// The range from the number of required keys to that of all keys.
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
    path: &[MismatchPathStep],
) -> Vec<TypeMismatchDetail> {
    let expected_size = size.unwrap_or(IntRange::ANY_SIZE);
    match actual.kind() {
        TypeKind::Struct(elements) => {
            let actual_size = size_of_struct(elements);
            if !expected_size.covers(actual_size) {
                return wrong_size(path, expected_size, actual_size);
            }
            let mut found = Vec::new();
            for element in elements {
                found.extend(entry(key, value, element, path));
            }
            found
        }
        TypeKind::Hash {
            key: their_key,
            value: their_value,
            size: their_size,
        } => {
            let actual_size = their_size.unwrap_or(IntRange::ANY_SIZE);
            if !expected_size.covers(actual_size) {
                return wrong_size(path, expected_size, actual_size);
            }
            let sizeless = Type::hash_of(their_key.clone(), their_value.clone());
            vec![TypeMismatchDetail::of_type(path, original, &sizeless)]
        }
        _ => vec![TypeMismatchDetail::of_type(path, original, actual)],
    }
}

fn structure(
    elements: &[StructElement],
    original: &Type,
    actual: &Type,
    path: &[MismatchPathStep],
) -> Vec<TypeMismatchDetail> {
    match actual.kind() {
        TypeKind::Struct(others) => struct_of_struct(elements, others, path),
        TypeKind::Hash { key, value, size } => {
            let expected_size = size_of_struct(elements);
            let actual_size = size.unwrap_or(IntRange::ANY_SIZE);
            if !expected_size.covers(actual_size) {
                return wrong_size(path, expected_size, actual_size);
            }
            let sizeless = Type::hash_of(key.clone(), value.clone());
            vec![TypeMismatchDetail::of_type(path, original, &sizeless)]
        }
        _ => vec![TypeMismatchDetail::of_type(path, original, actual)],
    }
}

/// The mismatches of an element of a struct: those of its key, and those of its value.
fn entry(
    key: &Type,
    value: &Type,
    theirs: &StructElement,
    path: &[MismatchPathStep],
) -> Vec<TypeMismatchDetail> {
    let name = theirs.name.to_string();
    let mut found = Vec::new();
    let their_key = key_type(theirs);
    if !key.is_assignable(&their_key) {
        let path = extend_path(path, MismatchPathStep::EntryKey(name.clone()));
        found.extend(describe(key, &their_key, &path));
    }
    if !value.is_assignable(&theirs.value) {
        let path = extend_path(path, MismatchPathStep::EntryValue(name));
        found.extend(describe(value, &theirs.value, &path));
    }
    found
}

fn struct_of_struct(
    elements: &[StructElement],
    others: &[StructElement],
    path: &[MismatchPathStep],
) -> Vec<TypeMismatchDetail> {
    let mut found = Vec::new();
    for mine in elements {
        let Some(theirs) = others.iter().rfind(|theirs| theirs.name == mine.name) else {
            if !mine.optional {
                found.push(TypeMismatchDetail::new(
                    path,
                    MismatchKind::MissingKey(mine.name.to_string()),
                ));
            }
            continue;
        };
        found.extend(entry(&key_type(mine), &mine.value, theirs, path));
    }
    let is_known = |name: &str| elements.iter().any(|mine| &*mine.name == name);
    found.extend(
        others
            .iter()
            .filter(|theirs| !is_known(&theirs.name))
            .map(|theirs| {
                TypeMismatchDetail::new(path, MismatchKind::ExtraneousKey(theirs.name.to_string()))
            }),
    );
    found
}

fn describe_tuple(
    tuple: &TupleType,
    expected: &Type,
    original: &Type,
    actual: &Type,
    path: &[MismatchPathStep],
    arguments: bool,
) -> Vec<TypeMismatchDetail> {
    let is_array = matches!(actual.kind(), TypeKind::Array { .. });
    if expected == actual || (tuple.types.is_empty() && is_array) {
        return Vec::new();
    }
    let expected_size = tuple.size_range();
    let misfit = |actual_size: IntRange| {
        let (expected, actual) = (expected_size, actual_size);
        let what = if arguments {
            MismatchKind::Count { expected, actual }
        } else {
            MismatchKind::Size { expected, actual }
        };
        vec![TypeMismatchDetail::new(path, what)]
    };
    match actual.kind() {
        TypeKind::Tuple(theirs) => {
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
                        describe(
                            mine,
                            other,
                            &extend_path(path, MismatchPathStep::Index(index)),
                        )
                    })
                })
                .collect()
        }
        TypeKind::Array { element, size } => {
            let actual_size = size.unwrap_or(IntRange::ANY_SIZE);
            if !expected_size.covers(actual_size) {
                return misfit(actual_size);
            }
            let places = tuple.types.iter().enumerate();
            places
                .flat_map(|(index, mine)| {
                    describe(
                        mine,
                        element,
                        &extend_path(path, MismatchPathStep::Index(index)),
                    )
                })
                .collect()
        }
        _ => vec![TypeMismatchDetail::of_type(path, original, actual)],
    }
}

fn callable_type(
    expected: &CallableType,
    original: &Type,
    actual: &Type,
    path: &[MismatchPathStep],
) -> Vec<TypeMismatchDetail> {
    let TypeKind::Callable(theirs) = actual.kind() else {
        return vec![TypeMismatchDetail::of_type(path, original, actual)];
    };
    if expected.parameters.is_none() && expected.returns.is_none() {
        return Vec::new();
    }
    if let (Some(mine), Some(their_parameters)) = (&expected.parameters, &theirs.parameters) {
        let mine_type = Type::from(TypeKind::Tuple(mine.clone()));
        let their_type = Type::from(TypeKind::Tuple(their_parameters.clone()));
        let found = describe_tuple(mine, &mine_type, &mine_type, &their_type, path, true);
        if !found.is_empty() {
            return found;
        }
    }
    let returns = |callable: &CallableType| callable.returns.clone().unwrap_or_else(Type::any);
    let (mine, their_return) = (returns(expected), returns(theirs));
    if !mine.is_assignable(&their_return) {
        let path = extend_path(path, MismatchPathStep::Return);
        return vec![TypeMismatchDetail::of_type(&path, &mine, &their_return)];
    }
    let block = |callable: &CallableType| callable.block.clone().unwrap_or_else(Type::undef);
    let (mine, their_block) = (block(expected), block(theirs));
    if their_block.is_assignable(&mine) {
        return Vec::new();
    }
    vec![TypeMismatchDetail::of_type(
        &extend_path(path, MismatchPathStep::Block),
        &mine,
        &their_block,
    )]
}
