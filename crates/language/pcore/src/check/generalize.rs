//! A type without the parameters that depend on values: [`Type::generalize`].

use super::collections::is_empty_hash;
use super::strings::size_of_all;
use crate::types::{CallableType, InitType, StructElement, TupleType, Type, TypeKind};

impl Type {
    /// The type without ranges, lengths and texts, also in the types that it contains.
    #[must_use]
    pub fn generalize(&self) -> Self {
        match self.kind() {
            TypeKind::Integer(_) => Self::integer(),
            TypeKind::Float(_) => Self::float(),
            TypeKind::Boolean(_) => Self::boolean(),
            TypeKind::String(_) => Self::string(),
            TypeKind::Timestamp(_) => Self::timestamp(),
            TypeKind::Timespan(_) => Self::timespan(),
            TypeKind::Collection(_) => Self::collection(),
            TypeKind::Uri(_) => Self::uri(),
            TypeKind::Enum(texts) => match size_of_all(texts) {
                Some(size) => Self::string_sized(size),
                None => Self::string(),
            },
            TypeKind::ObjectExtension { base, .. } => base.clone().into(),
            TypeKind::Array { element, .. } => Self::array_of(element.generalize()),
            TypeKind::Hash { key, value, .. } if !is_empty_hash(self) => {
                Self::hash_of(key.generalize(), value.generalize())
            }
            TypeKind::Tuple(tuple) => TypeKind::Tuple(tuple.generalize()).into(),
            TypeKind::Struct(elements) => Self::struct_of(
                elements
                    .iter()
                    .map(|element| StructElement {
                        value: element.value.generalize(),
                        ..element.clone()
                    })
                    .collect(),
            ),
            TypeKind::Variant(types) if !types.is_empty() => {
                let general: Vec<Self> = types.iter().map(Self::generalize).collect();
                if general == *types {
                    self.clone()
                } else {
                    Self::variant(general)
                }
            }
            TypeKind::Optional(Some(inner)) => Self::optional_of(inner.generalize()),
            TypeKind::NotUndef(Some(inner)) => Self::not_undef_of(inner.generalize()),
            TypeKind::Type(Some(inner)) => Self::type_of(inner.generalize()),
            TypeKind::Iterable(Some(inner)) => Self::iterable_of(inner.generalize()),
            TypeKind::Iterator(Some(inner)) => Self::iterator_of(inner.generalize()),
            TypeKind::Sensitive(inner) => TypeKind::Sensitive(inner.generalize()).into(),
            TypeKind::Init(InitType {
                ty: Some(inner),
                arguments,
            }) => TypeKind::Init(InitType {
                ty: Some(inner.generalize()),
                arguments: arguments.clone(),
            })
            .into(),
            TypeKind::Callable(callable) => Self::callable_of(CallableType {
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
