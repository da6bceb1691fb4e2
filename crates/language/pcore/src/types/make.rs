//! Types without parameters, and constructors for the others.

use std::sync::{Arc, LazyLock};

use super::{
    Alias, CallableType, EnumType, FloatRange, IntRange, Kind, ObjectBody, ObjectType, RuntimeType,
    StringType, StructElement, TimeRange, TupleType, Type,
};
use crate::value::Regexp;

/// Functions that give one shared type each.
macro_rules! shared {
    ($($(#[$doc:meta])* $name:ident = $kind:expr;)*) => {
        impl Type {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name() -> Self {
                    static TYPE: LazyLock<Type> = LazyLock::new(|| Type::from($kind));
                    TYPE.clone()
                }
            )*
        }
    };
}

shared! {
    any = Kind::Any;
    undef = Kind::Undef;
    default_type = Kind::Default;
    unit = Kind::Unit;
    scalar = Kind::Scalar;
    scalar_data = Kind::ScalarData;
    numeric = Kind::Numeric;
    integer = Kind::Integer(IntRange::ALL);
    float = Kind::Float(FloatRange::ALL);
    boolean = Kind::Boolean(None);
    string = Kind::String(StringType::Any);
    /// `String[1]`.
    non_empty_string = Kind::String(StringType::Size(IntRange::NOT_EMPTY));
    /// `Enum` without values: any string.
    any_enum = Kind::Enum(EnumType::new([], false));
    any_pattern = Kind::Pattern(Vec::new());
    regexp = Kind::Regexp(None);
    collection = Kind::Collection(None);
    array = Kind::Array { element: Type::any(), size: None };
    hash = Kind::Hash { key: Type::any(), value: Type::any(), size: None };
    tuple = Kind::Tuple(TupleType::new(Vec::new(), None));
    any_struct = Kind::Struct(Vec::new());
    /// `Variant` without types: nothing.
    any_variant = Kind::Variant(Vec::new());
    optional = Kind::Optional(None);
    not_undef = Kind::NotUndef(None);
    /// `Type`: any type.
    type_type = Kind::Type(None);
    callable = Kind::Callable(CallableType::new(None, None, None));
    iterable = Kind::Iterable(None);
    iterator = Kind::Iterator(None);
    catalog_entry = Kind::CatalogEntry;
    resource = Kind::Resource { type_name: None, title: None };
    class = Kind::Class(None);
    sensitive = Kind::Sensitive(Type::any());
    semver = Kind::SemVer(Vec::new());
    semver_range = Kind::SemVerRange;
    timestamp = Kind::Timestamp(TimeRange::ALL);
    timespan = Kind::Timespan(TimeRange::ALL);
    binary = Kind::Binary;
    uri = Kind::Uri(None);
    runtime = Kind::Runtime(RuntimeType { runtime: None, name: None });
    init = Kind::Init(super::InitType { ty: None, arguments: Vec::new() });
    /// `Object`: any object.
    object = Kind::Object({
        let object = ObjectType::declare(None);
        object.set_body(ObjectBody::default());
        object
    });
    type_set = Kind::TypeSet(None);
}

impl Type {
    #[must_use]
    pub fn integer_in(range: IntRange) -> Self {
        Kind::Integer(range).into()
    }

    #[must_use]
    pub fn float_in(range: FloatRange) -> Self {
        Kind::Float(range).into()
    }

    #[must_use]
    pub fn boolean_of(value: bool) -> Self {
        Kind::Boolean(Some(value)).into()
    }

    /// Strings by their length in characters.
    #[must_use]
    pub fn string_sized(size: IntRange) -> Self {
        Kind::String(StringType::Size(size.to_size())).into()
    }

    /// The `String` type that contains only this text.
    pub fn string_value(text: impl Into<Arc<str>>) -> Self {
        Kind::String(StringType::Value(text.into())).into()
    }

    pub fn enumeration<T: Into<Arc<str>>>(values: impl IntoIterator<Item = T>) -> Self {
        Kind::Enum(EnumType::new(values.into_iter().map(Into::into), false)).into()
    }

    #[must_use]
    pub fn pattern(patterns: Vec<Regexp>) -> Self {
        Kind::Pattern(patterns).into()
    }

    #[must_use]
    pub fn array_of(element: Self) -> Self {
        Self::array_sized(element, None)
    }

    /// A list of some size; what holds nothing holds `Unit`.
    #[must_use]
    pub fn array_sized(element: Self, size: Option<IntRange>) -> Self {
        let element = if size == Some(IntRange::EMPTY) {
            Self::unit()
        } else {
            element
        };
        Kind::Array {
            element,
            size: size.map(IntRange::to_size),
        }
        .into()
    }

    #[must_use]
    pub fn hash_of(key: Self, value: Self) -> Self {
        Self::hash_sized(key, value, None)
    }

    #[must_use]
    pub fn hash_sized(key: Self, value: Self, size: Option<IntRange>) -> Self {
        let (key, value) = if size == Some(IntRange::EMPTY) {
            (Self::unit(), Self::unit())
        } else {
            (key, value)
        };
        Kind::Hash {
            key,
            value,
            size: size.map(IntRange::to_size),
        }
        .into()
    }

    #[must_use]
    pub fn tuple_of(types: Vec<Self>, size: Option<IntRange>) -> Self {
        Kind::Tuple(TupleType::new(types, size)).into()
    }

    #[must_use]
    pub fn struct_of(elements: Vec<StructElement>) -> Self {
        Kind::Struct(elements).into()
    }

    /// Exactly these, even if it is one.
    #[must_use]
    pub fn variant_of(types: Vec<Self>) -> Self {
        Kind::Variant(types).into()
    }

    /// Flat and without repetitions; a single type stands for itself.
    #[must_use]
    pub fn variant(types: Vec<Self>) -> Self {
        let mut unique: Vec<Self> = Vec::with_capacity(types.len());
        let mut add = |ty: &Self| {
            if !unique.contains(ty) {
                unique.push(ty.clone());
            }
        };
        for ty in &types {
            match ty.kind() {
                Kind::Variant(inner) => inner.iter().for_each(&mut add),
                _ => add(ty),
            }
        }
        if unique.len() == 1 {
            unique.remove(0)
        } else {
            Self::variant_of(unique)
        }
    }

    #[must_use]
    pub fn optional_of(ty: Self) -> Self {
        Kind::Optional(Some(ty)).into()
    }

    #[must_use]
    pub fn not_undef_of(ty: Self) -> Self {
        match ty.kind() {
            Kind::Any => Self::not_undef(),
            _ => Kind::NotUndef(Some(ty)).into(),
        }
    }

    /// The type `Type[T]`, whose values are `T` and its subtypes.
    #[must_use]
    pub fn type_of(ty: Self) -> Self {
        Kind::Type(Some(ty)).into()
    }

    #[must_use]
    pub fn iterable_of(element: Self) -> Self {
        Kind::Iterable(Some(element)).into()
    }

    #[must_use]
    pub fn iterator_of(element: Self) -> Self {
        Kind::Iterator(Some(element)).into()
    }

    /// `File['/x']`: the name as it is to be printed.
    #[must_use]
    pub fn resource_of(type_name: &str, title: Option<&str>) -> Self {
        Kind::Resource {
            type_name: Some(type_name.into()),
            title: title.map(Into::into),
        }
        .into()
    }

    /// The type `Class['x']` of the class with this name.
    pub fn class_of(name: impl Into<Arc<str>>) -> Self {
        Kind::Class(Some(name.into())).into()
    }

    #[must_use]
    pub fn callable_of(callable: CallableType) -> Self {
        Kind::Callable(callable).into()
    }

    /// The text of a type that is not known here.
    pub fn reference(text: impl Into<Arc<str>>) -> Self {
        Kind::Reference(text.into()).into()
    }
}

impl From<Arc<Alias>> for Type {
    fn from(alias: Arc<Alias>) -> Self {
        Kind::Alias(alias).into()
    }
}

impl From<Arc<ObjectType>> for Type {
    fn from(object: Arc<ObjectType>) -> Self {
        Kind::Object(object).into()
    }
}
