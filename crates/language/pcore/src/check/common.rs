//! The narrowest common supertype that Puppet finds for two types: [`Type::common`].
//!
//! Invariant: the result accepts the values of both, except `Undef`, which Puppet leaves out.

use std::sync::Arc;

use crate::types::{EnumType, FloatRange, IntRange, StringType, Type, TypeKind};
use crate::value::Regexp;

impl Type {
    /// A common supertype of both types.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        match (self.kind(), other.kind()) {
            (TypeKind::Undef | TypeKind::Unit, _) => return other.clone(),
            (_, TypeKind::Undef | TypeKind::Unit) => return self.clone(),
            _ => {}
        }
        if self.is_assignable(other) {
            return self.clone();
        }
        if other.is_assignable(self) {
            return other.clone();
        }
        same_kind(self, other).unwrap_or_else(|| general(self, other))
    }
}

/// The common supertype of two types of one kind, or of two kinds of strings.
fn same_kind(ty: &Type, other: &Type) -> Option<Type> {
    Some(match (ty.kind(), other.kind()) {
        (TypeKind::Array { element: a, .. }, TypeKind::Array { element: b, .. }) => {
            Type::array_of(a.common(b))
        }
        (
            TypeKind::Hash {
                key: a, value: c, ..
            },
            TypeKind::Hash {
                key: b, value: d, ..
            },
        ) => Type::hash_of(a.common(b), c.common(d)),
        (TypeKind::Class(_), TypeKind::Class(_)) => Type::class(),
        (TypeKind::Resource { type_name: a, .. }, TypeKind::Resource { type_name: b, .. }) => {
            match a {
                Some(name) if a == b => Type::resource_of(Arc::clone(name), None),
                _ => Type::resource(),
            }
        }
        (TypeKind::Integer(a), TypeKind::Integer(b)) => Type::integer_in(hull(*a, *b)),
        (TypeKind::Float(a), TypeKind::Float(b)) => Type::float_in(FloatRange {
            from: a.from.zip(b.from).map(|(a, b)| a.min(b)),
            to: a.to.zip(b.to).map(|(a, b)| a.max(b)),
        }),
        (TypeKind::String(a), TypeKind::String(b)) => strings(a, b),
        (TypeKind::String(a), TypeKind::Enum(b)) | (TypeKind::Enum(b), TypeKind::String(a)) => {
            match a {
                StringType::Value(text) => with_value(b, text),
                _ => Type::any_enum(),
            }
        }
        (TypeKind::Enum(a), TypeKind::Enum(b)) => {
            let values = a.values().iter().chain(b.values()).cloned();
            TypeKind::Enum(EnumType::new(values, false)).into()
        }
        (TypeKind::Pattern(a), TypeKind::Pattern(b)) => Type::pattern(union(a, b)),
        (TypeKind::Variant(a), TypeKind::Variant(b)) => {
            Type::variant(a.iter().chain(b).cloned().collect())
        }
        (TypeKind::Regexp(_), TypeKind::Regexp(_)) => Type::regexp(),
        (TypeKind::Callable(_), TypeKind::Callable(_)) => Type::callable(),
        _ => return None,
    })
}

fn general(ty: &Type, other: &Type) -> Type {
    let both = |wide: &Type| wide.is_assignable(ty) && wide.is_assignable(other);
    let wide = [Type::numeric, Type::scalar_data, Type::scalar, Type::data];
    if let Some(common) = wide.into_iter().map(|wide| wide()).find(|wide| both(wide)) {
        return common;
    }
    if let (TypeKind::Type(a), TypeKind::Type(b)) = (ty.kind(), other.kind()) {
        return match (a, b) {
            (Some(a), Some(b)) => Type::type_of(a.common(b)),
            _ => Type::type_type(),
        };
    }
    let rich = Type::rich_data();
    if both(&rich) { rich } else { Type::any() }
}

fn strings(a: &StringType, b: &StringType) -> Type {
    match (a, b) {
        (StringType::Size(a), StringType::Size(b)) => Type::string_sized(hull(*a, *b)),
        (StringType::Value(a), StringType::Value(b)) => Type::enumeration([a.clone(), b.clone()]),
        _ => Type::string(),
    }
}

fn with_value(values: &EnumType, text: &Arc<str>) -> Type {
    let all = values.values().iter().chain(std::iter::once(text)).cloned();
    TypeKind::Enum(EnumType::new(all, false)).into()
}

fn hull(a: IntRange, b: IntRange) -> IntRange {
    IntRange {
        from: a.from.zip(b.from).map(|(a, b)| a.min(b)),
        to: a.to.zip(b.to).map(|(a, b)| a.max(b)),
    }
}

fn union(a: &[Regexp], b: &[Regexp]) -> Vec<Regexp> {
    let mut all = a.to_vec();
    for pattern in b {
        if !all.contains(pattern) {
            all.push(pattern.clone());
        }
    }
    all
}
