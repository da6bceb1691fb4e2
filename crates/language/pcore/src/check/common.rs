//! The narrowest type that Puppet finds for two: [`Type::common`].
//!
//! Invariant: the result takes both, but for `Undef`, which Puppet leaves out.

use std::sync::Arc;

use crate::types::{EnumType, FloatRange, IntRange, Kind, StringType, Type};
use crate::value::Regexp;

impl Type {
    /// A type that takes both.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        match (self.kind(), other.kind()) {
            (Kind::Undef | Kind::Unit, _) => return other.clone(),
            (_, Kind::Undef | Kind::Unit) => return self.clone(),
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

/// Common supertype of two types of one kind, or of two kinds of strings.
fn same_kind(ty: &Type, other: &Type) -> Option<Type> {
    Some(match (ty.kind(), other.kind()) {
        (Kind::Array { element: a, .. }, Kind::Array { element: b, .. }) => {
            Type::array_of(a.common(b))
        }
        (
            Kind::Hash {
                key: a, value: c, ..
            },
            Kind::Hash {
                key: b, value: d, ..
            },
        ) => Type::hash_of(a.common(b), c.common(d)),
        (Kind::Class(_), Kind::Class(_)) => Type::class(),
        (Kind::Resource { type_name: a, .. }, Kind::Resource { type_name: b, .. }) => match a {
            Some(name) if a == b => Type::resource_of(name, None),
            _ => Type::resource(),
        },
        (Kind::Integer(a), Kind::Integer(b)) => Type::integer_in(hull(*a, *b)),
        (Kind::Float(a), Kind::Float(b)) => Type::float_in(FloatRange {
            from: a.from.zip(b.from).map(|(a, b)| a.min(b)),
            to: a.to.zip(b.to).map(|(a, b)| a.max(b)),
        }),
        (Kind::String(a), Kind::String(b)) => strings(a, b),
        (Kind::String(a), Kind::Enum(b)) | (Kind::Enum(b), Kind::String(a)) => match a {
            StringType::Value(text) => with_value(b, text),
            _ => Type::any_enum(),
        },
        (Kind::Enum(a), Kind::Enum(b)) => {
            let values = a.values().iter().chain(b.values()).cloned();
            Kind::Enum(EnumType::new(values, false)).into()
        }
        (Kind::Pattern(a), Kind::Pattern(b)) => Type::pattern(union(a, b)),
        (Kind::Variant(a), Kind::Variant(b)) => Type::variant(a.iter().chain(b).cloned().collect()),
        (Kind::Regexp(_), Kind::Regexp(_)) => Type::regexp(),
        (Kind::Callable(_), Kind::Callable(_)) => Type::callable(),
        _ => return None,
    })
}

fn general(ty: &Type, other: &Type) -> Type {
    let both = |wide: &Type| wide.is_assignable(ty) && wide.is_assignable(other);
    let wide = [Type::numeric, Type::scalar_data, Type::scalar, Type::data];
    if let Some(common) = wide.into_iter().map(|wide| wide()).find(|wide| both(wide)) {
        return common;
    }
    if let (Kind::Type(a), Kind::Type(b)) = (ty.kind(), other.kind()) {
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
    Kind::Enum(EnumType::new(all, false)).into()
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
