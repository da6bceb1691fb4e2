//! The types of the language. Main types: [`Type`] and its [`TypeKind`].
//!
//! Invariant: a `TypeKind` is built by the constructors of this module tree only, so what they
//! normalise (sizes are not negative, the values of an `Enum` are sorted) holds everywhere.

mod alias;
mod builtin;
mod compound_types;
mod constructors;
mod define;
mod define_members;
mod equality;
mod map;
mod name;
mod native;
mod object_hash;
mod object_type;
mod ranges;
mod visit;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

pub use alias::{AliasError, NamedTypeAlias};
pub use compound_types::{
    CallableType, EnumType, InitType, RuntimeName, RuntimeType, StringType, StructElement,
    TupleType, TypeSetType,
};
pub use define::{ObjectTypeError, unresolved_reference};
pub use object_type::{
    AttributeKind, ObjectAttribute, ObjectBody, ObjectFunction, ObjectTypeDefinition, TypeParameter,
};
pub use ranges::{FloatRange, IntRange, TimeRange};
pub(crate) use visit::visit;

use crate::value::{PuppetTimestamp, Regexp, SemVerRange, Timespan, Value};

/// A type. Cheap to clone; [`Type::kind`] (or `*ty`) is its kind.
///
/// `==` is Puppet's equality of types: `Variant[A, B]` equals `Variant[B, A]`, and an alias equals
/// only an alias with the same name.
#[derive(Clone)]
pub struct Type(Arc<TypeKind>);

/// All kinds of types. `None` in a variant is the type without that parameter: `Optional(None)` is
/// `Optional`.
#[derive(Debug)]
pub enum TypeKind {
    Any,
    Undef,
    Default,
    /// The element type of an empty list, which accepts nothing and everything. It has no name in
    /// programs.
    Unit,
    Scalar,
    ScalarData,
    Numeric,
    Integer(IntRange),
    Float(FloatRange),
    Boolean(Option<bool>),
    String(StringType),
    Enum(EnumType),
    Pattern(Vec<Regexp>),
    Regexp(Option<Regexp>),
    Collection(Option<IntRange>),
    Array {
        element: Type,
        size: Option<IntRange>,
    },
    Hash {
        key: Type,
        value: Type,
        size: Option<IntRange>,
    },
    Tuple(TupleType),
    Struct(Vec<StructElement>),
    Variant(Vec<Type>),
    Optional(Option<Type>),
    NotUndef(Option<Type>),
    /// `Type[T]`: the type of types.
    Type(Option<Type>),
    Callable(CallableType),
    Iterable(Option<Type>),
    Iterator(Option<Type>),
    CatalogEntry,
    /// `Resource['file', '/x']`, printed `File['/x']`.
    Resource {
        type_name: Option<Arc<str>>,
        title: Option<Arc<str>>,
    },
    Class(Option<Arc<str>>),
    Sensitive(Type),
    SemVer(Vec<Arc<SemVerRange>>),
    SemVerRange,
    Timestamp(TimeRange<PuppetTimestamp>),
    Timespan(TimeRange<Timespan>),
    Binary,
    /// A hash of the parts that an instance must match; `None` accepts every URI.
    Uri(Option<Value>),
    Runtime(RuntimeType),
    Init(InitType),
    /// `Object`, a type created by `Object[{..}]`, or the type of native objects.
    Object(Arc<ObjectTypeDefinition>),
    /// An object type with values for its type parameters (a hash): `Error['kind']`.
    ObjectExtension {
        base: Arc<ObjectTypeDefinition>,
        parameters: Value,
    },
    TypeSet(Option<Arc<TypeSetType>>),
    /// A named alias: `type X = ..`, and `Data`, `RichData` and similar ones.
    Alias(Arc<NamedTypeAlias>),
    /// The text of a type that is not known here.
    Reference(Arc<str>),
}

impl Type {
    /// The kind of the type, with its parameters.
    #[must_use]
    pub fn kind(&self) -> &TypeKind {
        &self.0
    }

    /// True if both are the identical object: a cheap test for unchanged types.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The type after resolving aliases; `None` if an alias is not resolved yet.
    #[must_use]
    pub fn unaliased(&self) -> Option<&Self> {
        let mut ty = self;
        while let TypeKind::Alias(alias) = ty.kind() {
            ty = alias.resolved()?;
        }
        Some(ty)
    }

    /// Address that identifies an alias or a type while it is alive.
    pub(crate) fn address(&self) -> usize {
        match self.kind() {
            TypeKind::Alias(alias) => Arc::as_ptr(alias).addr(),
            _ => Arc::as_ptr(&self.0).addr(),
        }
    }
}

impl Deref for Type {
    type Target = TypeKind;

    fn deref(&self) -> &TypeKind {
        &self.0
    }
}

impl From<TypeKind> for Type {
    fn from(kind: TypeKind) -> Self {
        Self(Arc::new(kind))
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            // the aliased type may contain the alias again
            TypeKind::Alias(alias) => f.write_str(alias.name()),
            TypeKind::Object(object) => f.write_str(object.name().unwrap_or("Object")),
            kind => fmt::Debug::fmt(kind, f),
        }
    }
}
