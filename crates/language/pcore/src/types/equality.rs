//! Equality and hashing of types.
//!
//! Invariant: equal types have equal hashes.

use std::hash::{Hash, Hasher};
use std::mem;
use std::sync::Arc;

use super::{ObjectTypeDefinition, Type, TypeKind, TypeSetType};

impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.kind() == other.kind()
    }
}

impl Eq for Type {}

impl Hash for Type {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind().hash(state);
    }
}

impl PartialEq for TypeKind {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a == b,
            (Self::Boolean(a), Self::Boolean(b)) => a == b,
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Enum(a), Self::Enum(b)) => a == b,
            (Self::Pattern(a), Self::Pattern(b)) => same_set(a, b),
            (Self::Regexp(a), Self::Regexp(b)) => a == b,
            (Self::Collection(a), Self::Collection(b)) => a == b,
            (
                Self::Array {
                    element: a,
                    size: m,
                },
                Self::Array {
                    element: b,
                    size: n,
                },
            ) => a == b && m == n,
            (
                Self::Hash {
                    key: a,
                    value: c,
                    size: m,
                },
                Self::Hash {
                    key: b,
                    value: d,
                    size: n,
                },
            ) => a == b && c == d && m == n,
            (Self::Tuple(a), Self::Tuple(b)) => a == b,
            (Self::Struct(a), Self::Struct(b)) => a == b,
            (Self::Variant(a), Self::Variant(b)) => same_set(a, b),
            (Self::Optional(a), Self::Optional(b))
            | (Self::NotUndef(a), Self::NotUndef(b))
            | (Self::Type(a), Self::Type(b))
            | (Self::Iterable(a), Self::Iterable(b))
            | (Self::Iterator(a), Self::Iterator(b)) => a == b,
            (Self::Callable(a), Self::Callable(b)) => a == b,
            (
                Self::Resource {
                    type_name: a,
                    title: m,
                },
                Self::Resource {
                    type_name: b,
                    title: n,
                },
            ) => same_name(a.as_deref(), b.as_deref()) && m == n,
            (Self::Class(a), Self::Class(b)) => a == b,
            (Self::Sensitive(a), Self::Sensitive(b)) => a == b,
            (Self::SemVer(a), Self::SemVer(b)) => a == b,
            (Self::Timestamp(a), Self::Timestamp(b)) => a == b,
            (Self::Timespan(a), Self::Timespan(b)) => a == b,
            (Self::Uri(a), Self::Uri(b)) => a == b,
            (Self::Runtime(a), Self::Runtime(b)) => a == b,
            (Self::Init(a), Self::Init(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => a == b,
            (
                Self::ObjectExtension {
                    base: a,
                    parameters: m,
                },
                Self::ObjectExtension {
                    base: b,
                    parameters: n,
                },
            ) => a == b && m == n,
            (Self::TypeSet(a), Self::TypeSet(b)) => a == b,
            (Self::Alias(a), Self::Alias(b)) => a.name() == b.name(),
            (Self::Reference(a), Self::Reference(b)) => a == b,
            _ => mem::discriminant(self) == mem::discriminant(other),
        }
    }
}

impl Eq for TypeKind {}

impl Hash for TypeKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        mem::discriminant(self).hash(state);
        match self {
            Self::Integer(range) => range.hash(state),
            Self::Float(range) => range.hash(state),
            Self::Boolean(value) => value.hash(state),
            Self::String(spec) => spec.hash(state),
            Self::Enum(spec) => spec.hash(state),
            // the order does not matter for equality
            Self::Pattern(patterns) => state.write_usize(patterns.len()),
            Self::Variant(types) => state.write_usize(types.len()),
            Self::Regexp(pattern) => pattern.hash(state),
            Self::Collection(size) => size.hash(state),
            Self::Array { element, size } => (element, size).hash(state),
            Self::Hash { key, value, size } => (key, value, size).hash(state),
            Self::Tuple(tuple) => tuple.hash(state),
            Self::Struct(elements) => elements.hash(state),
            Self::Optional(ty)
            | Self::NotUndef(ty)
            | Self::Type(ty)
            | Self::Iterable(ty)
            | Self::Iterator(ty) => ty.hash(state),
            Self::Callable(callable) => callable.hash(state),
            Self::Resource { title, .. } => title.hash(state),
            Self::Class(name) => name.hash(state),
            Self::Sensitive(ty) => ty.hash(state),
            Self::SemVer(ranges) => ranges.hash(state),
            Self::Timestamp(range) => range.hash(state),
            Self::Timespan(range) => range.hash(state),
            Self::Uri(parameters) => parameters.hash(state),
            Self::Runtime(runtime) => runtime.hash(state),
            Self::Init(init) => init.hash(state),
            Self::Object(object) => object.name().hash(state),
            Self::ObjectExtension { base, parameters } => {
                (base.name(), parameters).hash(state);
            }
            Self::TypeSet(set) => set.as_ref().and_then(|set| set.name()).hash(state),
            Self::Alias(alias) => alias.name().hash(state),
            Self::Reference(text) => text.hash(state),
            _ => {}
        }
    }
}

impl PartialEq for ObjectTypeDefinition {
    fn eq(&self, other: &Self) -> bool {
        if std::ptr::eq(self, other) {
            return true;
        }
        match (self.name(), other.name()) {
            // bodies may contain the type itself; within one loader a name has one body
            (Some(mine), Some(theirs)) => mine == theirs,
            (None, None) => self.body() == other.body(),
            _ => false,
        }
    }
}

impl Eq for ObjectTypeDefinition {}

impl PartialEq for TypeSetType {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.version == other.version
    }
}

impl Eq for TypeSetType {}

/// Compares lists as sets, as Ruby does: equal lengths, and every item of one is in the other.
fn same_set<T: PartialEq>(mine: &[T], theirs: &[T]) -> bool {
    mine.len() == theirs.len() && mine.iter().all(|item| theirs.contains(item))
}

fn same_name(a: Option<&str>, b: Option<&str>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => {
            Arc::<str>::from(a) == Arc::<str>::from(b) || a.to_lowercase() == b.to_lowercase()
        }
        (None, None) => true,
        _ => false,
    }
}
