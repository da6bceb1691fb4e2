//! What types are made of: ranges, the parameters of strings, enums, tuples, structs, callables.
//!
//! The rule that must hold: a range's `from` is not above its `to`.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use indexmap::IndexMap;

use super::Type;
use crate::value::{Regexp, SemVer, Value};

/// Integers from .. to; `None` is unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IntRange {
    pub(crate) from: Option<i64>,
    pub(crate) to: Option<i64>,
}

impl IntRange {
    /// Every integer.
    pub const ALL: Self = Self {
        from: None,
        to: None,
    };
    /// Every size: what a collection without a size has.
    pub const ANY_SIZE: Self = Self {
        from: Some(0),
        to: None,
    };
    pub const EMPTY: Self = Self {
        from: Some(0),
        to: Some(0),
    };
    pub const NOT_EMPTY: Self = Self {
        from: Some(1),
        to: None,
    };

    /// `None` if `from` is above `to`.
    #[must_use]
    pub fn new(from: Option<i64>, to: Option<i64>) -> Option<Self> {
        match (from, to) {
            (Some(low), Some(high)) if low > high => None,
            _ => Some(Self { from, to }),
        }
    }

    /// Exactly one number.
    #[must_use]
    pub fn exactly(number: i64) -> Self {
        Self {
            from: Some(number),
            to: Some(number),
        }
    }

    /// Exactly this size.
    pub(crate) fn of_len(len: usize) -> Self {
        Self::exactly(i64::try_from(len).unwrap_or(i64::MAX))
    }

    #[must_use]
    pub fn from(self) -> Option<i64> {
        self.from
    }

    #[must_use]
    pub fn to(self) -> Option<i64> {
        self.to
    }

    #[must_use]
    pub fn contains(self, number: i64) -> bool {
        self.from.is_none_or(|from| number >= from) && self.to.is_none_or(|to| number <= to)
    }

    pub(crate) fn contains_len(self, len: usize) -> bool {
        self.contains(i64::try_from(len).unwrap_or(i64::MAX))
    }

    /// Whether every number of the other is in this one.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        let below = match (self.from, other.from) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(theirs)) => mine <= theirs,
        };
        let above = match (self.to, other.to) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(theirs)) => mine >= theirs,
        };
        below && above
    }

    /// The range as a size: nothing below zero.
    #[must_use]
    pub fn to_size(self) -> Self {
        if self.from.is_some_and(|from| from >= 0) {
            return self;
        }
        Self {
            from: Some(0),
            to: self.to.map(|to| to.max(0)),
        }
    }

    #[must_use]
    pub fn is_finite(self) -> bool {
        self.from.is_some() && self.to.is_some()
    }

    /// The least size, for a range made by [`IntRange::to_size`].
    pub(crate) fn least(self) -> i64 {
        self.from.unwrap_or(0)
    }
}

/// Floats from .. to; `None` is unbounded.
#[derive(Debug, Clone, Copy)]
pub struct FloatRange {
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
}

impl FloatRange {
    pub const ALL: Self = Self {
        from: None,
        to: None,
    };

    /// `None` if `from` is above `to`.
    #[must_use]
    pub fn new(from: Option<f64>, to: Option<f64>) -> Option<Self> {
        match (from, to) {
            (Some(low), Some(high)) if low > high => None,
            _ => Some(Self { from, to }),
        }
    }

    #[must_use]
    pub fn from(self) -> Option<f64> {
        self.from
    }

    #[must_use]
    pub fn to(self) -> Option<f64> {
        self.to
    }

    pub(crate) fn lowest(self) -> f64 {
        self.from.unwrap_or(f64::NEG_INFINITY)
    }

    pub(crate) fn highest(self) -> f64 {
        self.to.unwrap_or(f64::INFINITY)
    }

    #[must_use]
    pub fn contains(self, number: f64) -> bool {
        number >= self.lowest() && number <= self.highest()
    }

    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        self.lowest() <= other.lowest() && self.highest() >= other.highest()
    }
}

impl PartialEq for FloatRange {
    fn eq(&self, other: &Self) -> bool {
        self.lowest().total_cmp(&other.lowest()).is_eq()
            && self.highest().total_cmp(&other.highest()).is_eq()
    }
}

impl Eq for FloatRange {}

impl Hash for FloatRange {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.lowest().to_bits());
        state.write_u64(self.highest().to_bits());
    }
}

/// Times from .. to; `None` is unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeRange<T> {
    pub(crate) from: Option<T>,
    pub(crate) to: Option<T>,
}

impl<T: Copy + Ord> TimeRange<T> {
    pub const ALL: Self = Self {
        from: None,
        to: None,
    };

    /// `None` if `from` is behind `to`.
    #[must_use]
    pub fn new(from: Option<T>, to: Option<T>) -> Option<Self> {
        match (from, to) {
            (Some(low), Some(high)) if low > high => None,
            _ => Some(Self { from, to }),
        }
    }

    #[must_use]
    pub fn from(self) -> Option<T> {
        self.from
    }

    #[must_use]
    pub fn to(self) -> Option<T> {
        self.to
    }

    #[must_use]
    pub fn contains(self, time: T) -> bool {
        self.from.is_none_or(|from| time >= from) && self.to.is_none_or(|to| time <= to)
    }

    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        self.from
            .is_none_or(|from| other.from.is_some_and(|theirs| from <= theirs))
            && self
                .to
                .is_none_or(|to| other.to.is_some_and(|theirs| to >= theirs))
    }
}

/// What a `String` type says of its strings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StringType {
    Any,
    /// By their length in characters.
    Size(IntRange),
    /// Exactly this text: the type that is inferred of a string.
    Value(Arc<str>),
}

/// One of some texts. The texts are sorted and unique.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EnumType {
    pub(crate) values: Arc<[Arc<str>]>,
    pub(crate) ignore_case: bool,
}

impl EnumType {
    pub fn new(values: impl IntoIterator<Item = Arc<str>>, ignore_case: bool) -> Self {
        let mut values: Vec<Arc<str>> = values.into_iter().collect();
        values.sort();
        values.dedup();
        Self {
            values: values.into(),
            ignore_case,
        }
    }

    #[must_use]
    pub fn values(&self) -> &[Arc<str>] {
        &self.values
    }

    #[must_use]
    pub fn ignores_case(&self) -> bool {
        self.ignore_case
    }

    #[must_use]
    pub fn contains(&self, text: &str) -> bool {
        self.values.iter().any(|value| {
            if self.ignore_case {
                value.eq_ignore_ascii_case(text)
            } else {
                **value == *text
            }
        })
    }
}

/// A list with a type for each place; the last type repeats if the size says so.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TupleType {
    pub(crate) types: Vec<Type>,
    pub(crate) size: Option<IntRange>,
}

impl TupleType {
    #[must_use]
    pub fn new(types: Vec<Type>, size: Option<IntRange>) -> Self {
        Self {
            types,
            size: size.map(IntRange::to_size),
        }
    }

    #[must_use]
    pub fn types(&self) -> &[Type] {
        &self.types
    }

    #[must_use]
    pub fn size(&self) -> Option<IntRange> {
        self.size
    }

    /// How many elements it takes.
    #[must_use]
    pub fn size_range(&self) -> IntRange {
        match self.size {
            Some(size) => size,
            None if self.types.is_empty() => IntRange::ANY_SIZE,
            None => IntRange::of_len(self.types.len()),
        }
    }

    /// The type of a place: the last one repeats.
    #[must_use]
    pub fn type_at(&self, index: usize) -> Option<&Type> {
        self.types.get(index).or_else(|| self.types.last())
    }
}

/// One key of a `Struct`. The key is a `String` of one value, or an `Optional` of one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StructElement {
    pub(crate) name: Arc<str>,
    pub(crate) optional: bool,
    pub(crate) value: Type,
}

impl StructElement {
    pub fn new(name: impl Into<Arc<str>>, optional: bool, value: Type) -> Self {
        Self {
            name: name.into(),
            optional,
            value,
        }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the key may be missing.
    #[must_use]
    pub fn is_optional(&self) -> bool {
        self.optional
    }

    #[must_use]
    pub fn value(&self) -> &Type {
        &self.value
    }
}

/// What a function or a block takes and gives.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallableType {
    /// `None`: anything is taken.
    pub(crate) parameters: Option<TupleType>,
    /// The block that is taken; an `Optional` if it may be missing.
    pub(crate) block: Option<Type>,
    /// `None`: nothing is said.
    pub(crate) returns: Option<Type>,
}

impl CallableType {
    #[must_use]
    pub fn new(parameters: Option<TupleType>, block: Option<Type>, returns: Option<Type>) -> Self {
        Self {
            parameters,
            block,
            returns: returns.filter(|ty| !matches!(ty.kind(), super::Kind::Any)),
        }
    }

    #[must_use]
    pub fn parameters(&self) -> Option<&TupleType> {
        self.parameters.as_ref()
    }

    #[must_use]
    pub fn block(&self) -> Option<&Type> {
        self.block.as_ref()
    }

    #[must_use]
    pub fn returns(&self) -> Option<&Type> {
        self.returns.as_ref()
    }
}

/// A type of the runtime below: `Runtime['ruby', 'Symbol']`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RuntimeType {
    pub(crate) runtime: Option<Arc<str>>,
    pub(crate) name: Option<RuntimeName>,
}

/// Which of the runtime's types.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RuntimeName {
    Name(Arc<str>),
    Pattern(Regexp, Arc<str>),
}

/// `Init[T, args..]`: what a `T` can be made from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InitType {
    pub(crate) ty: Option<Type>,
    pub(crate) arguments: Vec<Value>,
}

/// A set of types that are versioned together.
#[derive(Debug, Clone)]
pub struct TypeSetType {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) version: Option<SemVer>,
    pub(crate) types: IndexMap<Arc<str>, Type>,
    /// What it was made from.
    pub(crate) init: Value,
}

impl TypeSetType {
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// A type of the set by its name in it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Type> {
        self.types.get(name)
    }
}
