//! A shorter type with the same meaning: [`Type::normalize`].
//!
//! Invariant: the result accepts the same values, except for parameters that Puppet itself drops:
//! the sizes of a `Collection` and of an `Array[Any]`.

use super::merge;
use crate::types::{CallableType, StructElement, TupleType, Type, TypeKind};

impl Type {
    /// The normalized type: repetitions are removed, `Variant[T, Undef]` becomes `Optional[T]`,
    /// ranges and texts in a `Variant` are merged.
    #[must_use]
    pub fn normalize(&self) -> Self {
        match self.kind() {
            TypeKind::Collection(_) => Self::collection(),
            TypeKind::Array { element, size } => match element.kind() {
                TypeKind::Any => Self::array(),
                _ => Self::array_sized(element.normalize(), *size),
            },
            TypeKind::Hash { key, value, size } => {
                Self::hash_sized(key.normalize(), value.normalize(), *size)
            }
            TypeKind::Tuple(tuple) => TypeKind::Tuple(tuple.normalize()).into(),
            TypeKind::Struct(elements) => Self::struct_of(
                elements
                    .iter()
                    .map(|element| StructElement {
                        value: element.value.normalize(),
                        ..element.clone()
                    })
                    .collect(),
            ),
            TypeKind::Variant(types) if !types.is_empty() => normalize_variant(self, types),
            TypeKind::Optional(Some(inner)) => normalize_optional(&inner.normalize()),
            TypeKind::NotUndef(Some(inner)) => normalize_not_undef(&inner.normalize()),
            TypeKind::Type(Some(inner)) => Self::type_of(inner.normalize()),
            TypeKind::Iterable(Some(inner)) => Self::iterable_of(inner.normalize()),
            TypeKind::Iterator(Some(inner)) => Self::iterator_of(inner.normalize()),
            TypeKind::Sensitive(inner) => {
                let normal = inner.normalize();
                if normal == *inner {
                    self.clone()
                } else {
                    TypeKind::Sensitive(normal.generalize()).into()
                }
            }
            TypeKind::Callable(callable) => Self::callable_of(CallableType {
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
        TypeKind::NotUndef(None) => Type::optional(),
        TypeKind::NotUndef(Some(inner)) => Type::optional_of(inner.clone()).normalize(),
        _ if inner.accepts_undef() => inner.clone(),
        _ => Type::optional_of(inner.clone()),
    }
}

fn normalize_not_undef(inner: &Type) -> Type {
    match inner.kind() {
        TypeKind::Optional(None) => Type::not_undef(),
        TypeKind::Optional(Some(inner)) => Type::not_undef_of(inner.clone()).normalize(),
        _ if !inner.accepts_undef() => inner.clone(),
        _ => Type::not_undef_of(inner.clone()),
    }
}

fn normalize_variant(ty: &Type, types: &[Type]) -> Type {
    let normal: Vec<Type> = types.iter().map(Type::normalize).collect();
    if let [only] = normal.as_slice() {
        return only.clone();
    }
    let is_optional = |one: &Type| matches!(one.kind(), TypeKind::Undef | TypeKind::Optional(_));
    if normal.iter().any(is_optional) {
        let rest = normal
            .iter()
            .filter(|one| !matches!(one.kind(), TypeKind::Undef))
            .map(|one| match one.kind() {
                // a bare Optional accepts anything
                TypeKind::Optional(inner) => inner.clone().unwrap_or_else(Type::any),
                _ => one.clone(),
            })
            .collect();
        return Type::optional_of(Type::variant(rest)).normalize();
    }
    let modified = normal != types;
    let flat = flatten(normal);
    let before = flat.len();
    let merged = merge::merge_types(flat);
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
            TypeKind::Variant(inner) => flat.extend(inner.iter().cloned()),
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
