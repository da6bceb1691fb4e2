//! Which types can be iterated, and what that yields.

use crate::types::{IntRange, Kind, TupleType, Type};

impl Type {
    /// True if the values of the type can be iterated.
    #[must_use]
    pub fn is_iterable(&self) -> bool {
        match self.kind() {
            Kind::Integer(_)
            | Kind::String(_)
            | Kind::Enum(_)
            | Kind::Collection(_)
            | Kind::Array { .. }
            | Kind::Hash { .. }
            | Kind::Tuple(_)
            | Kind::Struct(_)
            | Kind::Iterable(_)
            | Kind::Iterator(_) => true,
            Kind::Type(Some(inner)) => match inner.kind() {
                Kind::Enum(_) => true,
                Kind::Integer(range) => range.is_finite(),
                _ => false,
            },
            Kind::Alias(_) => self
                .unaliased()
                .is_some_and(|ty| !matches!(ty.kind(), Kind::Alias(_)) && ty.is_iterable()),
            Kind::Object(object) => object.parent().is_some_and(Self::is_iterable),
            _ => false,
        }
    }

    /// The type of the elements. `None`: not known to be iterable; `Some(None)`: anything.
    pub(crate) fn iterated(&self) -> Option<Option<Type>> {
        match self.kind() {
            Kind::Integer(_) => Some(Some(Self::integer())),
            Kind::String(_) | Kind::Enum(_) => Some(Some(Self::string_sized(IntRange::exactly(1)))),
            Kind::Array { element, .. } => Some(match element.kind() {
                Kind::Any => None,
                _ => Some(element.clone()),
            }),
            Kind::Hash { key, value, .. } => Some(Some(if *self == Self::hash() {
                pair(Self::unit(), Self::unit())
            } else {
                pair(key.clone(), value.clone())
            })),
            Kind::Tuple(tuple) => Some(Some(Self::variant(tuple.types.clone()))),
            Kind::Struct(elements) if elements.is_empty() => {
                Some(Some(pair(Self::unit(), Self::unit())))
            }
            Kind::Struct(elements) => Some(Some(pair(
                Self::variant(elements.iter().map(super::normalize::key_type).collect()),
                Self::variant(
                    elements
                        .iter()
                        .map(|element| element.value.clone())
                        .collect(),
                ),
            ))),
            Kind::Iterable(element) | Kind::Iterator(element) => Some(element.clone()),
            Kind::Type(Some(inner)) => match inner.kind() {
                Kind::Enum(_) => Some(Some(inner.clone())),
                Kind::Integer(range) if range.is_finite() => Some(Some(inner.clone())),
                _ => None,
            },
            Kind::Alias(_) => self.unaliased()?.iterated(),
            Kind::Object(object) => object.parent()?.iterated(),
            _ => None,
        }
    }
}

fn pair(key: Type, value: Type) -> Type {
    Kind::Tuple(TupleType::new(vec![key, value], Some(IntRange::exactly(2)))).into()
}
