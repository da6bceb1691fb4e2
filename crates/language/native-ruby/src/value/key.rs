//! Keys of hashes, compared by Ruby's `eql?`: [`Key`].

use std::cell::Cell;
use std::sync::Arc;

use super::{Depth, Eval, RubyValue, refuse};

/// A key; also the identity of a value in `uniq` and the like.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Nil,
    Bool(bool),
    Int(i64),
    /// Bits of a float other than NaN and the zeros.
    Float(u64),
    Str(Arc<str>),
    Symbol(Arc<str>),
    Array(Vec<Key>),
}

// === impl Key ===

impl Key {
    pub(crate) fn new(value: &RubyValue) -> Eval<Self> {
        Self::nested(value, Depth::new(&Cell::new(0)))
    }

    fn nested(value: &RubyValue, depth: Depth<'_>) -> Eval<Self> {
        depth.visit()?;
        Ok(match value {
            RubyValue::Nil => Self::Nil,
            RubyValue::Bool(flag) => Self::Bool(*flag),
            RubyValue::Int(number) => Self::Int(*number),
            RubyValue::Float(number) if *number != 0.0 && !number.is_nan() => {
                Self::Float(number.to_bits())
            }
            RubyValue::Str(text) => Self::Str(text.get()),
            RubyValue::Symbol(text) => Self::Symbol(Arc::clone(text)),
            RubyValue::Array(elements) => {
                let elements = elements.get();
                let keys = elements.iter().map(|it| Self::nested(it, depth.deeper()));
                Self::Array(keys.collect::<Eval<Vec<Self>>>()?)
            }
            other => return refuse(format!("{} as a key", other.kind())),
        })
    }

    /// The value again; strings are frozen, as in Ruby.
    pub(crate) fn value(&self) -> RubyValue {
        match self {
            Self::Nil => RubyValue::Nil,
            Self::Bool(flag) => RubyValue::Bool(*flag),
            Self::Int(number) => RubyValue::Int(*number),
            Self::Float(bits) => RubyValue::Float(f64::from_bits(*bits)),
            Self::Str(text) => RubyValue::Str(super::RubyString::new(Arc::clone(text), true)),
            Self::Symbol(text) => RubyValue::Symbol(Arc::clone(text)),
            Self::Array(keys) => RubyValue::array(keys.iter().map(Self::value).collect()),
        }
    }
}
