//! Type inference of values: [`Type::infer`] results in one common type for all elements,
//! [`Type::infer_detailed`] in the type of each.

use std::sync::Arc;

use crate::types::{FloatRange, IntRange, StructElement, TimeRange, Type, TypeKind};
use crate::value::{Hash, SemVerRange, Value};

impl Type {
    /// The type of a value; a list's elements get one common type.
    #[must_use]
    pub fn infer(value: &Value) -> Self {
        match value {
            Value::Undef => Self::undef(),
            Value::Default => Self::default_type(),
            Value::Bool(flag) => Self::boolean_of(*flag),
            Value::Int(number) => Self::integer_in(IntRange::exactly(*number)),
            Value::Float(number) => Self::float_in(FloatRange {
                from: Some(*number),
                to: Some(*number),
            }),
            Value::Str(text) => Self::string_value(text.clone()),
            Value::Array(values) => infer_array(values),
            Value::Hash(entries) => infer_hash(entries),
            Value::Regexp(regexp) => TypeKind::Regexp(Some(regexp.clone())).into(),
            Value::Type(ty) => Self::type_of(ty.clone()),
            Value::Sensitive(inner) => TypeKind::Sensitive(Self::infer(inner).generalize()).into(),
            Value::Binary(_) => Self::binary(),
            Value::SemVer(_) => Self::semver(),
            Value::SemVerRange(_) => Self::semver_range(),
            Value::Timestamp(time) => TypeKind::Timestamp(TimeRange {
                from: Some(*time),
                to: Some(*time),
            })
            .into(),
            Value::Timespan(span) => TypeKind::Timespan(TimeRange {
                from: Some(*span),
                to: Some(*span),
            })
            .into(),
            Value::Uri(uri) => TypeKind::Uri(uri.type_parameters().map(Value::hash)).into(),
            Value::Object(object) => object.object_type(),
        }
    }

    /// The type of a value with the type of each element and entry.
    #[must_use]
    pub fn infer_detailed(value: &Value) -> Self {
        match value {
            Value::Array(values) if !values.is_empty() => {
                Self::tuple_of(values.iter().map(Self::infer_detailed).collect(), None)
            }
            Value::Hash(entries) if !entries.is_empty() => detailed_hash(entries),
            Value::SemVer(version) => TypeKind::SemVer(vec![Arc::new(SemVerRange::between(
                version, version, false,
            ))])
            .into(),
            _ => Self::infer(value),
        }
    }

    /// The common supertype of all these types.
    #[must_use]
    pub fn common_of(types: impl IntoIterator<Item = Self>) -> Option<Self> {
        types
            .into_iter()
            .reduce(|common, next| common.common(&next))
    }
}

fn infer_array(values: &[Value]) -> Type {
    let common = Type::common_of(values.iter().map(Type::infer));
    Type::array_sized(
        common.unwrap_or_else(Type::unit),
        Some(IntRange::of_len(values.len())),
    )
}

fn infer_hash(entries: &Hash) -> Type {
    let keys = Type::common_of(entries.keys().map(Type::infer));
    let values = Type::common_of(entries.values().map(Type::infer));
    Type::hash_sized(
        keys.unwrap_or_else(Type::unit),
        values.unwrap_or_else(Type::unit),
        Some(IntRange::of_len(entries.len())),
    )
}

fn detailed_hash(entries: &Hash) -> Type {
    let named: Option<Vec<StructElement>> = entries
        .iter()
        .map(|(key, value)| match key {
            Value::Str(name) if !name.is_empty() => Some(StructElement {
                name: name.clone(),
                optional: false,
                value: Type::infer_detailed(value),
            }),
            _ => None,
        })
        .collect();
    match named {
        Some(elements) => Type::struct_of(elements),
        None => Type::hash_sized(
            Type::variant(entries.keys().map(Type::infer_detailed).collect()),
            Type::variant(entries.values().map(Type::infer_detailed).collect()),
            Some(IntRange::of_len(entries.len())),
        ),
    }
}
