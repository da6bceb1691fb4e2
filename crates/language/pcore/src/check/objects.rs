//! Assignability of objects, catalog entries, URIs and runtime types.

use super::matching::matches;
use super::recursion_trail::TypeCheckTrail;
use crate::convert;
use crate::types::{InitType, ObjectTypeDefinition, RuntimeType, Type, TypeKind};
use crate::value::{Hash, Value};

pub(super) fn assignable(ty: &Type, other: &Type, trail: &mut TypeCheckTrail<'_>) -> bool {
    match ty.kind() {
        TypeKind::Class(name) => match other.kind() {
            TypeKind::Class(theirs) => name.is_none() || name == theirs,
            _ => false,
        },
        TypeKind::Resource { type_name, title } => match other.kind() {
            TypeKind::Resource {
                type_name: their_name,
                title: their_title,
            } => type_name.as_ref().is_none_or(|name| {
                their_name
                    .as_ref()
                    .is_some_and(|theirs| name.to_lowercase() == theirs.to_lowercase())
                    && (title.is_none() || title == their_title)
            }),
            _ => false,
        },
        TypeKind::Uri(parameters) => match other.kind() {
            TypeKind::Uri(theirs) => parameters.as_ref().is_none_or(|parameters| {
                parameters_match(parameters, theirs.as_ref().and_then(Value::as_hash))
            }),
            _ => false,
        },
        TypeKind::Runtime(runtime) => match other.kind() {
            TypeKind::Runtime(theirs) => runtime_takes(runtime, theirs),
            _ => false,
        },
        TypeKind::Init(init) => init_takes(init, other, trail),
        TypeKind::Object(object) => object_takes(object, other),
        TypeKind::ObjectExtension { base, parameters } => match other.kind() {
            TypeKind::ObjectExtension {
                base: their_base,
                parameters: theirs,
            } => {
                base.is_or_inherited_by(their_base)
                    && parameters_match(parameters, theirs.as_hash())
            }
            _ => false,
        },
        TypeKind::TypeSet(set) => match other.kind() {
            TypeKind::TypeSet(theirs) => set.is_none() || set == theirs,
            _ => false,
        },
        _ => false,
    }
}

/// True if each parameter matches the parameter with the same name in the other type.
fn parameters_match(mine: &Value, theirs: Option<&Hash>) -> bool {
    mine.as_hash().is_none_or(|mine| {
        mine.iter().all(|(name, wanted)| {
            theirs
                .and_then(|theirs| theirs.get(name))
                .is_some_and(|given| {
                    matches(given, wanted)
                        || match (given, wanted) {
                            (Value::Type(given), Value::Type(wanted)) => {
                                wanted.is_assignable(given)
                            }
                            _ => false,
                        }
                })
        })
    })
}

fn runtime_takes(mine: &RuntimeType, theirs: &RuntimeType) -> bool {
    (mine.runtime.is_none() || mine.runtime == theirs.runtime)
        && (mine.name.is_none() || mine.name == theirs.name)
}

fn init_takes(init: &InitType, other: &Type, trail: &mut TypeCheckTrail<'_>) -> bool {
    let Some(ty) = &init.ty else {
        return match other.kind() {
            TypeKind::Init(_) => true,
            _ => Type::rich_data().is_assignable_within(other, &mut trail.descend()),
        };
    };
    if let TypeKind::Init(theirs) = other.kind() {
        return theirs
            .ty
            .as_ref()
            .is_some_and(|theirs| ty.is_assignable_within(theirs, &mut trail.descend()));
    }
    convert::init_types(init).is_ok_and(|accepted| {
        accepted
            .single
            .iter()
            .any(|one| one.is_assignable_within(other, &mut trail.descend()))
            || accepted
                .several
                .iter()
                .any(|one| one.is_assignable_within(other, &mut trail.descend()))
            || (accepted.several_may_be_one
                && accepted.several.iter().any(|one| {
                    one.is_assignable_within(
                        &Type::tuple_of(vec![other.clone()], None),
                        &mut trail.descend(),
                    )
                }))
    })
}

fn object_takes(object: &ObjectTypeDefinition, other: &Type) -> bool {
    match other.kind() {
        TypeKind::Object(theirs) => object.is_or_inherited_by(theirs),
        TypeKind::ObjectExtension { base, .. } => object.is_or_inherited_by(base),
        _ => false,
    }
}
