//! Assignability of types: [`Type::is_assignable`].
//!
//! Invariant: the cases are in the order of Puppet's implementation, since some of its results
//! depend on that order.

use super::recursion_trail::TypeCheckTrail;
use super::{callable, collections, objects, strings};
use crate::types::{NamedTypeAlias, Type, TypeKind};

impl Type {
    /// True if every value of the other type is an instance of this type.
    #[must_use]
    pub fn is_assignable(&self, other: &Self) -> bool {
        self.is_assignable_within(other, &mut TypeCheckTrail::new())
    }

    /// True if the type accepts `undef`.
    #[must_use]
    pub fn accepts_undef(&self) -> bool {
        self.is_assignable(&Self::undef())
    }

    /// Like [`Self::is_assignable`], as a part of the check of another type.
    pub(super) fn is_assignable_within(
        &self,
        other: &Self,
        trail: &mut TypeCheckTrail<'_>,
    ) -> bool {
        if trail.is_too_deep() {
            return true;
        }
        match self.kind() {
            TypeKind::Unit => true,
            TypeKind::Variant(types) => variant(self, types, other, trail),
            TypeKind::Alias(alias) if alias.is_recursive() => recursive_alias(self, other, trail),
            _ => assignable_from_other(self, other, trail),
        }
    }
}

fn recursive_alias(ty: &Type, other: &Type, trail: &mut TypeCheckTrail<'_>) -> bool {
    let guarded = |trail: &mut TypeCheckTrail<'_>| {
        trail.with_guard(|trail| {
            trail.with_this(ty.address(), |trail, recursion| {
                recursion.is_in_both() || assignable_from_other(ty, other, trail)
            })
        })
    };
    match other.kind() {
        // the guard sees recursion on both sides
        TypeKind::Alias(_) => guarded(trail),
        _ => trail.ask_once((ty.address(), other.address()), guarded),
    }
}

fn variant(ty: &Type, types: &[Type], other: &Type, trail: &mut TypeCheckTrail<'_>) -> bool {
    match other.kind() {
        // an empty Variant is void: not even undef belongs to it
        TypeKind::Undef if types.is_empty() => false,
        TypeKind::Variant(_) if types.is_empty() => true,
        TypeKind::Variant(others) => {
            !others.is_empty()
                && others
                    .iter()
                    .all(|one| assignable_from_other(ty, one, trail))
        }
        _ => assignable_from_other(ty, other, trail),
    }
}

/// The rules for a composite `other`, which apply to every type.
fn assignable_from_other(ty: &Type, other: &Type, trail: &mut TypeCheckTrail<'_>) -> bool {
    match other.kind() {
        TypeKind::Unit => true,
        TypeKind::Alias(alias) => assignable_from_alias(ty, other, alias, trail),
        TypeKind::Variant(others) => {
            if matches!(ty.kind(), TypeKind::Any) {
                return true;
            }
            if matches!(ty.kind(), TypeKind::NotUndef(_)) && others.is_empty() {
                return own(ty, other, trail);
            }
            !others.is_empty()
                && others
                    .iter()
                    .all(|one| ty.is_assignable_within(one, &mut trail.descend()))
        }
        TypeKind::Optional(inner) => {
            ty.is_assignable_within(&Type::undef(), &mut trail.unguarded())
                && inner
                    .as_ref()
                    .is_none_or(|inner| ty.is_assignable_within(inner, &mut trail.unguarded()))
        }
        TypeKind::NotUndef(Some(inner)) if !inner.accepts_undef() => {
            ty.is_assignable_within(inner, &mut trail.descend())
        }
        _ => own(ty, other, trail),
    }
}

fn assignable_from_alias(
    ty: &Type,
    other: &Type,
    alias: &NamedTypeAlias,
    trail: &mut TypeCheckTrail<'_>,
) -> bool {
    let Some(resolved) = alias.resolved() else {
        return false;
    };
    if !alias.is_recursive() {
        return ty.is_assignable_within(resolved, &mut trail.descend());
    }
    trail.with_guard(|trail| {
        trail.add_that(other.address()).is_in_both()
            || ty.is_assignable_within(resolved, &mut trail.descend())
    })
}

/// The rules of each type. `other` is never an alias; it is a `Variant`, `Optional` or `NotUndef`
/// only in the cases described above.
fn own(ty: &Type, other: &Type, trail: &mut TypeCheckTrail<'_>) -> bool {
    match ty.kind() {
        TypeKind::Any | TypeKind::Unit => true,
        TypeKind::Undef => matches!(other.kind(), TypeKind::Undef),
        TypeKind::Default => matches!(other.kind(), TypeKind::Default),
        TypeKind::SemVerRange => matches!(other.kind(), TypeKind::SemVerRange),
        TypeKind::Binary => matches!(other.kind(), TypeKind::Binary),
        TypeKind::Scalar => is_scalar(other),
        TypeKind::ScalarData => is_scalar_data(other),
        TypeKind::CatalogEntry => matches!(
            other.kind(),
            TypeKind::CatalogEntry | TypeKind::Class(_) | TypeKind::Resource { .. }
        ),
        TypeKind::Numeric
        | TypeKind::Integer(_)
        | TypeKind::Float(_)
        | TypeKind::Boolean(_)
        | TypeKind::SemVer(_)
        | TypeKind::Timestamp(_)
        | TypeKind::Timespan(_) => number_or_time(ty, other),
        TypeKind::String(_) | TypeKind::Enum(_) | TypeKind::Pattern(_) | TypeKind::Regexp(_) => {
            strings::assignable(ty, other)
        }
        TypeKind::Collection(_)
        | TypeKind::Array { .. }
        | TypeKind::Hash { .. }
        | TypeKind::Tuple(_)
        | TypeKind::Struct(_)
        | TypeKind::Iterable(_)
        | TypeKind::Iterator(_) => collections::assignable(ty, other, trail),
        TypeKind::Variant(types) => types
            .iter()
            .any(|one| one.is_assignable_within(other, &mut trail.descend())),
        TypeKind::Optional(inner) => {
            matches!(other.kind(), TypeKind::Undef)
                || inner
                    .as_ref()
                    .is_none_or(|inner| inner.is_assignable_within(other, &mut trail.descend()))
        }
        TypeKind::NotUndef(inner) => {
            !other.is_assignable_within(&Type::undef(), &mut trail.descend())
                && inner
                    .as_ref()
                    .is_none_or(|inner| inner.is_assignable_within(other, &mut trail.descend()))
        }
        TypeKind::Type(inner) => type_of_type(inner.as_ref(), other, trail),
        TypeKind::Sensitive(inner) => match other.kind() {
            TypeKind::Sensitive(theirs) => {
                inner.is_assignable_within(theirs, &mut trail.enter_element())
            }
            _ => false,
        },
        TypeKind::Callable(callable) => callable::assignable(callable, other, trail),
        TypeKind::Alias(alias) => alias
            .resolved()
            .is_some_and(|resolved| resolved.is_assignable_within(other, &mut trail.descend())),
        TypeKind::Reference(_) => ty == other,
        _ => objects::assignable(ty, other, trail),
    }
}

fn type_of_type(inner: Option<&Type>, other: &Type, trail: &mut TypeCheckTrail<'_>) -> bool {
    let TypeKind::Type(theirs) = other.kind() else {
        return false;
    };
    match (inner, theirs) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(inner), Some(theirs)) => {
            inner.is_assignable_within(theirs, &mut trail.enter_element())
        }
    }
}

fn number_or_time(ty: &Type, other: &Type) -> bool {
    match (ty.kind(), other.kind()) {
        (TypeKind::Numeric, TypeKind::Numeric | TypeKind::Integer(_) | TypeKind::Float(_)) => true,
        (TypeKind::Integer(mine), TypeKind::Integer(theirs)) => mine.covers(*theirs),
        (TypeKind::Float(mine), TypeKind::Float(theirs)) => mine.covers(*theirs),
        (TypeKind::Boolean(mine), TypeKind::Boolean(theirs)) => mine.is_none() || mine == theirs,
        (TypeKind::Timestamp(mine), TypeKind::Timestamp(theirs)) => mine.covers(*theirs),
        (TypeKind::Timespan(mine), TypeKind::Timespan(theirs)) => mine.covers(*theirs),
        (TypeKind::SemVer(mine), TypeKind::SemVer(theirs)) => {
            mine.is_empty()
                || (!theirs.is_empty()
                    && theirs
                        .iter()
                        .all(|theirs| mine.iter().any(|mine| mine.covers(theirs))))
        }
        _ => false,
    }
}

pub(super) fn is_scalar_data(ty: &Type) -> bool {
    matches!(
        ty.kind(),
        TypeKind::ScalarData
            | TypeKind::Numeric
            | TypeKind::Integer(_)
            | TypeKind::Float(_)
            | TypeKind::Boolean(_)
            | TypeKind::String(_)
            | TypeKind::Enum(_)
            | TypeKind::Pattern(_)
    )
}

fn is_scalar(ty: &Type) -> bool {
    is_scalar_data(ty)
        || matches!(
            ty.kind(),
            TypeKind::Scalar
                | TypeKind::Regexp(_)
                | TypeKind::SemVer(_)
                | TypeKind::SemVerRange
                | TypeKind::Timestamp(_)
                | TypeKind::Timespan(_)
        )
}
