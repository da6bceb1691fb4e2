//! Values of the language. Main type: [`Value`].
//!
//! Invariant: a value never changes after its creation, so clones can be shared between threads;
//! nested values are behind an `Arc`.

mod binary;
mod compare;
mod hash;
mod instance;
mod key;
mod object;
mod regexp;
pub(crate) mod semver;
mod semver_range;
mod time;
mod uri;

use std::sync::Arc;

pub use binary::Binary;
pub use compare::CompareError;
pub use hash::Hash;
pub use instance::ObjectInstance;
pub use key::HashKey;
pub use object::{ObjectError, PuppetObject};
pub use regexp::Regexp;
pub use semver::{SemVer, SemVerError};
pub use semver_range::{SemVerRange, SemVerRangeError};
pub(crate) use time::NANOS_PER_SECOND;
pub use time::{PuppetTimestamp, Timespan};
pub use uri::{PuppetUriError, Uri};

use crate::types::Type;

/// Any value of the language.
///
/// `==` between values is Ruby's `eql?`, as used for the keys of hashes: `1` and `1.0` differ, and
/// so do `'a'` and `'A'`. The language's own `==` is [`Value::equals`].
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// `undef`.
    #[default]
    Undef,
    /// The literal `default`.
    Default,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Arc<str>),
    Array(Arc<Vec<Value>>),
    Hash(Arc<Hash>),
    Regexp(Regexp),
    Type(Type),
    /// A value that must not be shown.
    Sensitive(Arc<Value>),
    Binary(Binary),
    SemVer(Arc<SemVer>),
    SemVerRange(Arc<SemVerRange>),
    Timestamp(PuppetTimestamp),
    Timespan(Timespan),
    Uri(Arc<Uri>),
    /// A native object, or an instance of an `Object` type.
    Object(Arc<dyn PuppetObject>),
}

/// Lists of values are long, so a value has at most three words.
const _: () = assert!(size_of::<Value>() == 24);

impl Value {
    /// Creates a string value.
    pub fn string(text: impl Into<Arc<str>>) -> Self {
        Self::Str(text.into())
    }

    /// Creates an array value.
    #[must_use]
    pub fn array(elements: Vec<Self>) -> Self {
        Self::Array(Arc::new(elements))
    }

    /// Creates a hash value.
    #[must_use]
    pub fn hash(entries: Hash) -> Self {
        Self::Hash(Arc::new(entries))
    }

    /// Creates a sensitive value, which is never shown.
    #[must_use]
    pub fn sensitive(inner: Self) -> Self {
        Self::Sensitive(Arc::new(inner))
    }

    /// Creates an object value.
    pub fn object(object: impl PuppetObject + 'static) -> Self {
        Self::Object(Arc::new(object))
    }

    /// Truth of the value in a condition: true for everything except `undef` and `false`.
    #[must_use]
    pub fn is_truthy(&self) -> bool {
        !matches!(self, Self::Undef | Self::Bool(false))
    }

    #[must_use]
    pub fn is_undef(&self) -> bool {
        matches!(self, Self::Undef)
    }

    /// True if it represents an unknown value: [`PuppetObject::is_unknown`].
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Object(object) if object.is_unknown())
    }

    /// True if it is or contains an unknown value.
    #[must_use]
    pub fn has_unknown(&self) -> bool {
        match self {
            Self::Object(object) => object.has_unknown(),
            Self::Array(elements) => elements.iter().any(Self::has_unknown),
            Self::Hash(entries) => entries
                .iter()
                .any(|(key, value)| key.has_unknown() || value.has_unknown()),
            Self::Sensitive(inner) => inner.has_unknown(),
            _ => false,
        }
    }

    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_hash(&self) -> Option<&Hash> {
        match self {
            Self::Hash(entries) => Some(entries),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_type(&self) -> Option<&Type> {
        match self {
            Self::Type(ty) => Some(ty),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_object(&self) -> Option<&dyn PuppetObject> {
        match self {
            Self::Object(object) => Some(object.as_ref()),
            _ => None,
        }
    }

    /// The object as the native type `T`; `None` if it has another type.
    #[must_use]
    pub fn downcast_object<T: PuppetObject + 'static>(&self) -> Option<&T> {
        self.as_object()?.as_any().downcast_ref()
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Str(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Str(text.into())
    }
}

impl From<Vec<Value>> for Value {
    fn from(elements: Vec<Value>) -> Self {
        Self::array(elements)
    }
}

impl From<Hash> for Value {
    fn from(entries: Hash) -> Self {
        Self::hash(entries)
    }
}

impl From<Type> for Value {
    fn from(ty: Type) -> Self {
        Self::Type(ty)
    }
}
