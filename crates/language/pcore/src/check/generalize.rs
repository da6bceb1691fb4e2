//! A type without what it says of values: [`Type::generalize`].

use super::collections::is_empty_hash;
use super::strings::size_of_all;
use crate::types::{CallableType, InitType, Kind, StructElement, TupleType, Type};

impl Type {
    /// Without ranges, lengths and texts; what is inside is generalized too.
    #[must_use]
    pub fn generalize(&self) -> Self {
        match self.kind() {
            Kind::Integer(_) => Self::integer(),
            Kind::Float(_) => Self::float(),
            Kind::Boolean(_) => Self::boolean(),
            Kind::String(_) => Self::string(),
            Kind::Timestamp(_) => Self::timestamp(),
            Kind::Timespan(_) => Self::timespan(),
            Kind::Collection(_) => Self::collection(),
            Kind::Uri(_) => Self::uri(),
            Kind::Enum(texts) => match size_of_all(texts) {
                Some(size) => Self::string_sized(size),
                None => Self::string(),
            },
            Kind::ObjectExtension { base, .. } => base.clone().into(),
            Kind::Array { element, .. } => Self::array_of(element.generalize()),
            Kind::Hash { key, value, .. } if !is_empty_hash(self) => {
                Self::hash_of(key.generalize(), value.generalize())
            }
            Kind::Tuple(tuple) => Kind::Tuple(tuple.generalize()).into(),
            Kind::Struct(elements) => Self::struct_of(
                elements
                    .iter()
                    .map(|element| StructElement {
                        value: element.value.generalize(),
                        ..element.clone()
                    })
                    .collect(),
            ),
            Kind::Variant(types) if !types.is_empty() => {
                let general: Vec<Self> = types.iter().map(Self::generalize).collect();
                if general == *types {
                    self.clone()
                } else {
                    Self::variant(general)
                }
            }
            Kind::Optional(Some(inner)) => Self::optional_of(inner.generalize()),
            Kind::NotUndef(Some(inner)) => Self::not_undef_of(inner.generalize()),
            Kind::Type(Some(inner)) => Self::type_of(inner.generalize()),
            Kind::Iterable(Some(inner)) => Self::iterable_of(inner.generalize()),
            Kind::Iterator(Some(inner)) => Self::iterator_of(inner.generalize()),
            Kind::Sensitive(inner) => Kind::Sensitive(inner.generalize()).into(),
            Kind::Init(InitType {
                ty: Some(inner),
                arguments,
            }) => Kind::Init(InitType {
                ty: Some(inner.generalize()),
                arguments: arguments.clone(),
            })
            .into(),
            Kind::Callable(callable) => Self::callable_of(CallableType {
                parameters: callable.parameters.as_ref().map(TupleType::generalize),
                block: callable.block.as_ref().map(Self::generalize),
                returns: callable.returns.as_ref().map(Self::generalize),
            }),
            _ => self.clone(),
        }
    }
}

impl TupleType {
    fn generalize(&self) -> Self {
        Self {
            types: self.types.iter().map(Type::generalize).collect(),
            size: self.size,
        }
    }
}
