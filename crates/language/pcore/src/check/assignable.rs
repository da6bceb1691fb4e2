//! Assignability of types: [`Type::is_assignable`].
//!
//! Invariant: the cases stand in the order in which Puppet asks them, since some answers
//! of Puppet depend on it.

use super::trail::Trail;
use super::{callable, collections, objects, strings};
use crate::types::{Alias, Kind, Type};

impl Type {
    /// True if every value of the other type is an instance of this type.
    #[must_use]
    pub fn is_assignable(&self, other: &Self) -> bool {
        assignable(self, other, &mut Trail::new())
    }

    /// True if the type accepts `undef`.
    #[must_use]
    pub fn accepts_undef(&self) -> bool {
        self.is_assignable(&Self::undef())
    }
}

pub(super) fn assignable(ty: &Type, other: &Type, trail: &mut Trail<'_>) -> bool {
    if trail.is_too_deep() {
        return true;
    }
    match ty.kind() {
        Kind::Unit => true,
        Kind::Variant(types) => variant(ty, types, other, trail),
        Kind::Alias(alias) if alias.is_recursive() => recursive_alias(ty, other, trail),
        _ => by_other(ty, other, trail),
    }
}

fn recursive_alias(ty: &Type, other: &Type, trail: &mut Trail<'_>) -> bool {
    let guarded = |trail: &mut Trail<'_>| {
        trail.guarded(|trail| {
            trail.with_this(ty.address(), |trail, recursion| {
                recursion.in_both() || by_other(ty, other, trail)
            })
        })
    };
    match other.kind() {
        // the guard sees recursion on both sides
        Kind::Alias(_) => guarded(trail),
        _ => trail.once((ty.address(), other.address()), guarded),
    }
}

fn variant(ty: &Type, types: &[Type], other: &Type, trail: &mut Trail<'_>) -> bool {
    match other.kind() {
        // an empty Variant is void: not even undef belongs to it
        Kind::Undef if types.is_empty() => false,
        Kind::Variant(_) if types.is_empty() => true,
        Kind::Variant(others) => {
            !others.is_empty() && others.iter().all(|one| by_other(ty, one, trail))
        }
        _ => by_other(ty, other, trail),
    }
}

/// Rules for a composite other type, which apply to every type.
fn by_other(ty: &Type, other: &Type, trail: &mut Trail<'_>) -> bool {
    match other.kind() {
        Kind::Unit => true,
        Kind::Alias(alias) => by_other_alias(ty, other, alias, trail),
        Kind::Variant(others) => {
            if matches!(ty.kind(), Kind::Any) {
                return true;
            }
            if matches!(ty.kind(), Kind::NotUndef(_)) && others.is_empty() {
                return own(ty, other, trail);
            }
            !others.is_empty()
                && others
                    .iter()
                    .all(|one| assignable(ty, one, &mut trail.down()))
        }
        Kind::Optional(inner) => {
            assignable(ty, &Type::undef(), &mut trail.unguarded())
                && inner
                    .as_ref()
                    .is_none_or(|inner| assignable(ty, inner, &mut trail.unguarded()))
        }
        Kind::NotUndef(Some(inner)) if !inner.accepts_undef() => {
            assignable(ty, inner, &mut trail.down())
        }
        _ => own(ty, other, trail),
    }
}

fn by_other_alias(ty: &Type, other: &Type, alias: &Alias, trail: &mut Trail<'_>) -> bool {
    let Some(resolved) = alias.resolved() else {
        return false;
    };
    if !alias.is_recursive() {
        return assignable(ty, resolved, &mut trail.down());
    }
    trail.guarded(|trail| {
        trail.add_that(other.address()).in_both() || assignable(ty, resolved, &mut trail.down())
    })
}

/// Rules of each type. `other` is never an alias; it is a `Variant`, `Optional` or `NotUndef` only in the cases
/// described above.
fn own(ty: &Type, other: &Type, trail: &mut Trail<'_>) -> bool {
    match ty.kind() {
        Kind::Any | Kind::Unit => true,
        Kind::Undef => matches!(other.kind(), Kind::Undef),
        Kind::Default => matches!(other.kind(), Kind::Default),
        Kind::SemVerRange => matches!(other.kind(), Kind::SemVerRange),
        Kind::Binary => matches!(other.kind(), Kind::Binary),
        Kind::Scalar => is_scalar(other),
        Kind::ScalarData => is_scalar_data(other),
        Kind::CatalogEntry => matches!(
            other.kind(),
            Kind::CatalogEntry | Kind::Class(_) | Kind::Resource { .. }
        ),
        Kind::Numeric
        | Kind::Integer(_)
        | Kind::Float(_)
        | Kind::Boolean(_)
        | Kind::SemVer(_)
        | Kind::Timestamp(_)
        | Kind::Timespan(_) => number_or_time(ty, other),
        Kind::String(_) | Kind::Enum(_) | Kind::Pattern(_) | Kind::Regexp(_) => {
            strings::assignable(ty, other)
        }
        Kind::Collection(_)
        | Kind::Array { .. }
        | Kind::Hash { .. }
        | Kind::Tuple(_)
        | Kind::Struct(_)
        | Kind::Iterable(_)
        | Kind::Iterator(_) => collections::assignable(ty, other, trail),
        Kind::Variant(types) => types
            .iter()
            .any(|one| assignable(one, other, &mut trail.down())),
        Kind::Optional(inner) => {
            matches!(other.kind(), Kind::Undef)
                || inner
                    .as_ref()
                    .is_none_or(|inner| assignable(inner, other, &mut trail.down()))
        }
        Kind::NotUndef(inner) => {
            !assignable(other, &Type::undef(), &mut trail.down())
                && inner
                    .as_ref()
                    .is_none_or(|inner| assignable(inner, other, &mut trail.down()))
        }
        Kind::Type(inner) => type_of_type(inner.as_ref(), other, trail),
        Kind::Sensitive(inner) => match other.kind() {
            Kind::Sensitive(theirs) => assignable(inner, theirs, &mut trail.inside()),
            _ => false,
        },
        Kind::Callable(callable) => callable::assignable(callable, other, trail),
        Kind::Alias(alias) => alias
            .resolved()
            .is_some_and(|resolved| assignable(resolved, other, &mut trail.down())),
        Kind::Reference(_) => ty == other,
        _ => objects::assignable(ty, other, trail),
    }
}

fn type_of_type(inner: Option<&Type>, other: &Type, trail: &mut Trail<'_>) -> bool {
    let Kind::Type(theirs) = other.kind() else {
        return false;
    };
    match (inner, theirs) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(inner), Some(theirs)) => assignable(inner, theirs, &mut trail.inside()),
    }
}

fn number_or_time(ty: &Type, other: &Type) -> bool {
    match (ty.kind(), other.kind()) {
        (Kind::Numeric, Kind::Numeric | Kind::Integer(_) | Kind::Float(_)) => true,
        (Kind::Integer(mine), Kind::Integer(theirs)) => mine.covers(*theirs),
        (Kind::Float(mine), Kind::Float(theirs)) => mine.covers(*theirs),
        (Kind::Boolean(mine), Kind::Boolean(theirs)) => mine.is_none() || mine == theirs,
        (Kind::Timestamp(mine), Kind::Timestamp(theirs)) => mine.covers(*theirs),
        (Kind::Timespan(mine), Kind::Timespan(theirs)) => mine.covers(*theirs),
        (Kind::SemVer(mine), Kind::SemVer(theirs)) => {
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
        Kind::ScalarData
            | Kind::Numeric
            | Kind::Integer(_)
            | Kind::Float(_)
            | Kind::Boolean(_)
            | Kind::String(_)
            | Kind::Enum(_)
            | Kind::Pattern(_)
    )
}

fn is_scalar(ty: &Type) -> bool {
    is_scalar_data(ty)
        || matches!(
            ty.kind(),
            Kind::Scalar
                | Kind::Regexp(_)
                | Kind::SemVer(_)
                | Kind::SemVerRange
                | Kind::Timestamp(_)
                | Kind::Timespan(_)
        )
}
