//! The type of a task's parameter, in the words of the Puppet language.
//!
//! [`ParamType`] is parsed from text such as `Optional[Array[String[1]]]`, printed back the same
//! way, and checks JSON values. The rule: a [`Mismatch`] says where and what was expected and names
//! the type of what was found, never its value, which may be a secret.
//!
//! Regular expressions are those of the `regex` crate. What only Ruby has (look-around,
//! back-references, `\h`, possessive quantifiers) is refused when the type is parsed; Ruby's `\A`,
//! `\z`, `\Z` and its always-multi-line `^` and `$` mean what they mean in Ruby.

mod argument;
mod build;
mod display;
mod error;
mod lexer;
mod parse;
mod pattern;
mod validate;

use serde::{Serialize, Serializer};

pub use error::TypeError;
pub use pattern::Regex;
pub use validate::Mismatch;

/// A parameter's type.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ParamType {
    /// Everything.
    #[default]
    Any,
    /// Everything that JSON has.
    Data,
    /// Only `null`.
    Undef,
    /// `Scalar` and `ScalarData`: a string, number or boolean.
    ScalarData {
        /// Which of the two names was used; from JSON, both take the same values.
        scalar: bool,
    },
    /// `Numeric`.
    Numeric,
    /// A boolean, or only that one.
    Boolean(Option<bool>),
    /// A string whose length in characters is in range.
    String(Range<u64>),
    /// An integer in range.
    Integer(Range<i64>),
    /// A number with a fraction, in range.
    Float(Range<f64>),
    /// One of these strings.
    Enum {
        /// At least one.
        values: Vec<String>,
        /// Compared without regard to case.
        ignore_case: bool,
    },
    /// A string that matches one of these.
    Pattern(Vec<Regex>),
    /// `null` or that.
    Optional(Box<ParamType>),
    /// That, but not `null`.
    NotUndef(Box<ParamType>),
    /// That, and not to be stored or shown.
    Sensitive(Box<ParamType>),
    /// One of these.
    Variant(Vec<ParamType>),
    /// All elements are that; their number is in range.
    Array(Box<ParamType>, Range<u64>),
    /// All keys and values are these; the number of entries is in range.
    Hash(Box<ParamType>, Box<ParamType>, Range<u64>),
    /// Elements are these in order; the last one repeats within the range.
    Tuple(Vec<ParamType>, Range<u64>),
    /// Exactly these entries.
    Struct(Vec<StructEntry>),
    /// `Collection`: an array or a hash with that many elements.
    Collection(Range<u64>),
    /// Bolt's `TargetSpec`: a string, or an array of such.
    TargetSpec,
}

/// One entry of a `Struct`.
#[derive(Clone, Debug, PartialEq)]
pub struct StructEntry {
    /// The key.
    pub name: String,
    /// How the key was written decides whether it may be absent.
    pub presence: Presence,
    /// The value's type.
    pub value: ParamType,
}

/// Whether an entry of a `Struct` may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// A bare key: absent if the value may be `null`.
    ByValue,
    /// `Optional['key']`
    Optional,
    /// `NotUndef['key']`
    Required,
}

/// Both ends belong to it; an absent one is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range<T> {
    /// The smallest.
    pub min: Option<T>,
    /// The largest.
    pub max: Option<T>,
}

impl<T: PartialOrd + Copy> Range<T> {
    /// Whether `value` is in it.
    pub fn contains(&self, value: T) -> bool {
        self.min.is_none_or(|min| min <= value) && self.max.is_none_or(|max| value <= max)
    }
}

impl ParamType {
    /// Whether an absent value is fine.
    pub fn accepts_undef(&self) -> bool {
        match self {
            Self::Any | Self::Data | Self::Undef | Self::Optional(_) => true,
            Self::Sensitive(inner) => inner.accepts_undef(),
            Self::Variant(types) => types.iter().any(Self::accepts_undef),
            _ => false,
        }
    }

    /// Whether any part of a value may be a secret.
    pub fn is_sensitive(&self) -> bool {
        match self {
            Self::Sensitive(_) => true,
            Self::Optional(inner) | Self::NotUndef(inner) | Self::Array(inner, _) => {
                inner.is_sensitive()
            }
            Self::Hash(key, value, _) => key.is_sensitive() || value.is_sensitive(),
            Self::Variant(types) | Self::Tuple(types, _) => types.iter().any(Self::is_sensitive),
            Self::Struct(entries) => entries.iter().any(|entry| entry.value.is_sensitive()),
            _ => false,
        }
    }
}

impl Serialize for ParamType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
