//! The types that can be iterated, and their element types.

use crate::types::{IntRange, TupleType, Type, TypeKind};

impl Type {
    /// True if the values of the type can be iterated.
    #[must_use]
    pub fn is_iterable(&self) -> bool {
        match self.kind() {
            TypeKind::Integer(_)
            | TypeKind::String(_)
            | TypeKind::Enum(_)
            | TypeKind::Collection(_)
            | TypeKind::Array { .. }
            | TypeKind::Hash { .. }
            | TypeKind::Tuple(_)
            | TypeKind::Struct(_)
            | TypeKind::Iterable(_)
            | TypeKind::Iterator(_) => true,
            TypeKind::Type(Some(inner)) => match inner.kind() {
                TypeKind::Enum(_) => true,
                TypeKind::Integer(range) => range.is_finite(),
                _ => false,
            },
            TypeKind::Alias(_) => self
                .unaliased()
                .is_some_and(|ty| !matches!(ty.kind(), TypeKind::Alias(_)) && ty.is_iterable()),
            TypeKind::Object(object) => object.parent().is_some_and(Self::is_iterable),
            _ => false,
        }
    }

    /// The type of the elements. `None` if the type is not known to be iterable; `Some(None)` if
    /// the elements may be anything.
    pub(crate) fn iterated(&self) -> Option<Option<Type>> {
        match self.kind() {
            TypeKind::Integer(_) => Some(Some(Self::integer())),
            TypeKind::String(_) | TypeKind::Enum(_) => {
                Some(Some(Self::string_sized(IntRange::exactly(1))))
            }
            TypeKind::Array { element, .. } => Some(match element.kind() {
                TypeKind::Any => None,
                _ => Some(element.clone()),
            }),
            TypeKind::Hash { key, value, .. } => Some(Some(if *self == Self::hash() {
                pair(Self::unit(), Self::unit())
            } else {
                pair(key.clone(), value.clone())
            })),
            TypeKind::Tuple(tuple) => Some(Some(Self::variant(tuple.types.clone()))),
            TypeKind::Struct(elements) if elements.is_empty() => {
                Some(Some(pair(Self::unit(), Self::unit())))
            }
            TypeKind::Struct(elements) => Some(Some(pair(
                Self::variant(elements.iter().map(super::normalize::key_type).collect()),
                Self::variant(
                    elements
                        .iter()
                        .map(|element| element.value.clone())
                        .collect(),
                ),
            ))),
            TypeKind::Iterable(element) | TypeKind::Iterator(element) => Some(element.clone()),
            TypeKind::Type(Some(inner)) => match inner.kind() {
                TypeKind::Enum(_) => Some(Some(inner.clone())),
                TypeKind::Integer(range) if range.is_finite() => Some(Some(inner.clone())),
                _ => None,
            },
            TypeKind::Alias(_) => self.unaliased()?.iterated(),
            TypeKind::Object(object) => object.parent()?.iterated(),
            _ => None,
        }
    }
}

fn pair(key: Type, value: Type) -> Type {
    TypeKind::Tuple(TupleType::new(vec![key, value], Some(IntRange::exactly(2)))).into()
}
