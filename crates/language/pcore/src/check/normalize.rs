//! A type with the same meaning and less text: [`Type::normalize`].
//!
//! Invariant: it takes the same values as before, but for what Puppet itself forgets: the
//! sizes of a `Collection` and of an `Array[Any]`.

use super::merge;
use crate::types::{CallableType, Kind, StructElement, TupleType, Type};

impl Type {
    /// Repetitions go, `Variant[T, Undef]` becomes `Optional[T]`, ranges and texts in a `Variant` are
    /// merged.
    #[must_use]
    pub fn normalize(&self) -> Self {
        match self.kind() {
            Kind::Collection(_) => Self::collection(),
            Kind::Array { element, size } => match element.kind() {
                Kind::Any => Self::array(),
                _ => Self::array_sized(element.normalize(), *size),
            },
            Kind::Hash { key, value, size } => {
                Self::hash_sized(key.normalize(), value.normalize(), *size)
            }
            Kind::Tuple(tuple) => Kind::Tuple(tuple.normalize()).into(),
            Kind::Struct(elements) => Self::struct_of(
                elements
                    .iter()
                    .map(|element| StructElement {
                        value: element.value.normalize(),
                        ..element.clone()
                    })
                    .collect(),
            ),
            Kind::Variant(types) if !types.is_empty() => normalize_variant(self, types),
            Kind::Optional(Some(inner)) => normalize_optional(&inner.normalize()),
            Kind::NotUndef(Some(inner)) => normalize_not_undef(&inner.normalize()),
            Kind::Type(Some(inner)) => Self::type_of(inner.normalize()),
            Kind::Iterable(Some(inner)) => Self::iterable_of(inner.normalize()),
            Kind::Iterator(Some(inner)) => Self::iterator_of(inner.normalize()),
            Kind::Sensitive(inner) => {
                let normal = inner.normalize();
                if normal == *inner {
                    self.clone()
                } else {
                    Kind::Sensitive(normal.generalize()).into()
                }
            }
            Kind::Callable(callable) => Self::callable_of(CallableType {
                parameters: callable.parameters.as_ref().map(TupleType::normalize),
                block: callable.block.as_ref().map(Self::normalize),
                returns: callable.returns.as_ref().map(Self::normalize),
            }),
            _ => self.clone(),
        }
    }
}

impl TupleType {
    fn normalize(&self) -> Self {
        Self {
            types: self.types.iter().map(Type::normalize).collect(),
            size: self.size,
        }
    }
}

fn normalize_optional(inner: &Type) -> Type {
    match inner.kind() {
        Kind::NotUndef(None) => Type::optional(),
        Kind::NotUndef(Some(inner)) => Type::optional_of(inner.clone()).normalize(),
        _ if inner.accepts_undef() => inner.clone(),
        _ => Type::optional_of(inner.clone()),
    }
}

fn normalize_not_undef(inner: &Type) -> Type {
    match inner.kind() {
        Kind::Optional(None) => Type::not_undef(),
        Kind::Optional(Some(inner)) => Type::not_undef_of(inner.clone()).normalize(),
        _ if !inner.accepts_undef() => inner.clone(),
        _ => Type::not_undef_of(inner.clone()),
    }
}

fn normalize_variant(ty: &Type, types: &[Type]) -> Type {
    let normal: Vec<Type> = types.iter().map(Type::normalize).collect();
    if let [only] = normal.as_slice() {
        return only.clone();
    }
    let is_optional = |one: &Type| matches!(one.kind(), Kind::Undef | Kind::Optional(_));
    if normal.iter().any(is_optional) {
        let rest = normal
            .iter()
            .filter(|one| !matches!(one.kind(), Kind::Undef))
            .map(|one| match one.kind() {
                // a bare Optional takes anything
                Kind::Optional(inner) => inner.clone().unwrap_or_else(Type::any),
                _ => one.clone(),
            })
            .collect();
        return Type::optional_of(Type::variant(rest)).normalize();
    }
    let modified = normal != types;
    let flat = flatten(normal);
    let before = flat.len();
    let merged = merge::all(flat);
    if let [only] = merged.as_slice() {
        return only.clone();
    }
    if modified || merged.len() != before {
        Type::variant(merged)
    } else {
        ty.clone()
    }
}

fn flatten(types: Vec<Type>) -> Vec<Type> {
    let mut flat = Vec::with_capacity(types.len());
    for ty in types {
        match ty.kind() {
            Kind::Variant(inner) => flat.extend(inner.iter().cloned()),
            _ => flat.push(ty),
        }
    }
    flat
}

/// The type of a struct's key: the text itself, or an `Optional` of it.
pub(super) fn key_type(element: &StructElement) -> Type {
    let name = Type::string_value(element.name.clone());
    if element.optional {
        Type::optional_of(name)
    } else {
        name
    }
}
