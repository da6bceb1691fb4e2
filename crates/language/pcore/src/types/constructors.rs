//! Constructors of types.

use std::sync::{Arc, LazyLock};

use super::{
    CallableType, EnumType, FloatRange, IntRange, NamedTypeAlias, ObjectBody, ObjectTypeDefinition,
    RuntimeType, StringType, StructElement, TimeRange, TupleType, Type, TypeKind,
};
use crate::value::Regexp;

/// Defines functions that return one shared type each.
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
    any = TypeKind::Any;
    undef = TypeKind::Undef;
    default_type = TypeKind::Default;
    unit = TypeKind::Unit;
    scalar = TypeKind::Scalar;
    scalar_data = TypeKind::ScalarData;
    numeric = TypeKind::Numeric;
    integer = TypeKind::Integer(IntRange::ALL);
    float = TypeKind::Float(FloatRange::ALL);
    boolean = TypeKind::Boolean(None);
    string = TypeKind::String(StringType::Any);
    /// `String[1]`.
    non_empty_string = TypeKind::String(StringType::Size(IntRange::NOT_EMPTY));
    /// `Enum` without values: any string.
    any_enum = TypeKind::Enum(EnumType::new([], false));
    any_pattern = TypeKind::Pattern(Vec::new());
    regexp = TypeKind::Regexp(None);
    collection = TypeKind::Collection(None);
    array = TypeKind::Array { element: Type::any(), size: None };
    hash = TypeKind::Hash { key: Type::any(), value: Type::any(), size: None };
    tuple = TypeKind::Tuple(TupleType::new(Vec::new(), None));
    any_struct = TypeKind::Struct(Vec::new());
    /// `Variant` without types: nothing.
    any_variant = TypeKind::Variant(Vec::new());
    optional = TypeKind::Optional(None);
    not_undef = TypeKind::NotUndef(None);
    /// `Type`: any type.
    type_type = TypeKind::Type(None);
    callable = TypeKind::Callable(CallableType::new(None, None, None));
    iterable = TypeKind::Iterable(None);
    iterator = TypeKind::Iterator(None);
    catalog_entry = TypeKind::CatalogEntry;
    resource = TypeKind::Resource { type_name: None, title: None };
    class = TypeKind::Class(None);
    sensitive = TypeKind::Sensitive(Type::any());
    semver = TypeKind::SemVer(Vec::new());
    semver_range = TypeKind::SemVerRange;
    timestamp = TypeKind::Timestamp(TimeRange::ALL);
    timespan = TypeKind::Timespan(TimeRange::ALL);
    binary = TypeKind::Binary;
    uri = TypeKind::Uri(None);
    runtime = TypeKind::Runtime(RuntimeType { runtime: None, name: None });
    init = TypeKind::Init(super::InitType { ty: None, arguments: Vec::new() });
    /// `Object`: any object.
    object = TypeKind::Object({
        let object = ObjectTypeDefinition::declare(None);
        object.set_body(ObjectBody::default());
        object
    });
    type_set = TypeKind::TypeSet(None);
}

impl Type {
    #[must_use]
    pub fn integer_in(range: IntRange) -> Self {
        TypeKind::Integer(range).into()
    }

    #[must_use]
    pub fn float_in(range: FloatRange) -> Self {
        TypeKind::Float(range).into()
    }

    #[must_use]
    pub fn boolean_of(value: bool) -> Self {
        TypeKind::Boolean(Some(value)).into()
    }

    /// Strings by their length in characters.
    #[must_use]
    pub fn string_sized(size: IntRange) -> Self {
        TypeKind::String(StringType::Size(size.to_size())).into()
    }

    /// The `String` type that contains only this text.
    pub fn string_value(text: impl Into<Arc<str>>) -> Self {
        TypeKind::String(StringType::Value(text.into())).into()
    }

    pub fn enumeration<T: Into<Arc<str>>>(values: impl IntoIterator<Item = T>) -> Self {
        TypeKind::Enum(EnumType::new(values.into_iter().map(Into::into), false)).into()
    }

    #[must_use]
    pub fn pattern(patterns: Vec<Regexp>) -> Self {
        TypeKind::Pattern(patterns).into()
    }

    #[must_use]
    pub fn array_of(element: Self) -> Self {
        Self::array_sized(element, None)
    }

    /// A list of a given size; the elements of an empty list have the type `Unit`.
    #[must_use]
    pub fn array_sized(element: Self, size: Option<IntRange>) -> Self {
        let element = if size == Some(IntRange::EMPTY) {
            Self::unit()
        } else {
            element
        };
        TypeKind::Array {
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
        TypeKind::Hash {
            key,
            value,
            size: size.map(IntRange::to_size),
        }
        .into()
    }

    #[must_use]
    pub fn tuple_of(types: Vec<Self>, size: Option<IntRange>) -> Self {
        TypeKind::Tuple(TupleType::new(types, size)).into()
    }

    #[must_use]
    pub fn struct_of(elements: Vec<StructElement>) -> Self {
        TypeKind::Struct(elements).into()
    }

    /// A `Variant` of exactly these types, even if there is only one.
    #[must_use]
    pub fn variant_of(types: Vec<Self>) -> Self {
        TypeKind::Variant(types).into()
    }

    /// A flattened `Variant` without repetitions; a single type is returned itself.
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
                TypeKind::Variant(inner) => inner.iter().for_each(&mut add),
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
        TypeKind::Optional(Some(ty)).into()
    }

    #[must_use]
    pub fn not_undef_of(ty: Self) -> Self {
        match ty.kind() {
            TypeKind::Any => Self::not_undef(),
            _ => TypeKind::NotUndef(Some(ty)).into(),
        }
    }

    /// The type `Type[T]`, whose values are `T` and its subtypes.
    #[must_use]
    pub fn type_of(ty: Self) -> Self {
        TypeKind::Type(Some(ty)).into()
    }

    #[must_use]
    pub fn iterable_of(element: Self) -> Self {
        TypeKind::Iterable(Some(element)).into()
    }

    #[must_use]
    pub fn iterator_of(element: Self) -> Self {
        TypeKind::Iterator(Some(element)).into()
    }

    /// The type `File['/x']`; `type_name` is the name to print.
    pub fn resource_of(type_name: impl Into<Arc<str>>, title: Option<Arc<str>>) -> Self {
        TypeKind::Resource {
            type_name: Some(type_name.into()),
            title,
        }
        .into()
    }

    /// The type `Class['x']` of the class with this name.
    pub fn class_of(name: impl Into<Arc<str>>) -> Self {
        TypeKind::Class(Some(name.into())).into()
    }

    #[must_use]
    pub fn callable_of(callable: CallableType) -> Self {
        TypeKind::Callable(callable).into()
    }

    /// A reference to a type that is not known here, by its text.
    pub fn reference(text: impl Into<Arc<str>>) -> Self {
        TypeKind::Reference(text.into()).into()
    }
}

impl From<Arc<NamedTypeAlias>> for Type {
    fn from(alias: Arc<NamedTypeAlias>) -> Self {
        TypeKind::Alias(alias).into()
    }
}

impl From<Arc<ObjectTypeDefinition>> for Type {
    fn from(object: Arc<ObjectTypeDefinition>) -> Self {
        TypeKind::Object(object).into()
    }
}
