//! The tree of a document: [`Node`].
//!
//! Equality is that of Ruby's hash keys, so it compares only values: 1 and 1.0 differ, and
//! positions and styles are ignored.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use indexmap::{Equivalent, IndexMap};

use crate::{Date, Time};

/// The entries of a mapping, in the order in which keys were first written.
pub type Mapping = IndexMap<Node, Node>;

/// A value, its position and its style. Clones share their contents.
///
/// The position of a block after `|` or `>` is the start of its text.
#[derive(Debug, Clone)]
pub struct Node {
    pub value: Value,
    /// Line of the value, counted from 1.
    pub line: u32,
    /// Column of the value, counted from 1 in characters.
    pub column: u32,
    pub style: Style,
}

/// The style of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Plain,
    Single,
    Double,
    /// A block after `|`.
    Literal,
    /// A block after `>`.
    Folded,
    /// A collection, which has no style.
    Collection,
}

#[derive(Debug, Clone)]
pub enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    /// An integer of more than 64 bits, in decimal.
    BigInteger(Arc<str>),
    Float(f64),
    String(Arc<str>),
    Symbol(Arc<str>),
    Binary(Arc<[u8]>),
    Date(Date),
    Time(Time),
    Sequence(Arc<Vec<Node>>),
    Mapping(Arc<Mapping>),
}

impl Node {
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_mapping(&self) -> Option<&Mapping> {
        match &self.value {
            Value::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_sequence(&self) -> Option<&[Node]> {
        match &self.value {
            Value::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// The value of a string key, if this is a mapping that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_mapping()?.get(&Key(key))
    }
}

/// A string that is equal to the node of that string, for access to the keys of a [`Mapping`].
#[derive(Debug, Clone, Copy)]
pub struct Key<'k>(pub &'k str);

impl Equivalent<Node> for Key<'_> {
    fn equivalent(&self, node: &Node) -> bool {
        node.as_str() == Some(self.0)
    }
}

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_string(self.0, state);
    }
}

/// The hash of a string, which is the same for [`Key`] and [`Node`].
fn hash_string<H: Hasher>(text: &str, state: &mut H) {
    0u8.hash(state);
    text.hash(state);
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Eq for Node {}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Integer(a), Self::Integer(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => float_bits(*a) == float_bits(*b),
            (Self::BigInteger(a), Self::BigInteger(b))
            | (Self::String(a), Self::String(b))
            | (Self::Symbol(a), Self::Symbol(b)) => a == b,
            (Self::Binary(a), Self::Binary(b)) => a == b,
            (Self::Date(a), Self::Date(b)) => a == b,
            (Self::Time(a), Self::Time(b)) => a == b,
            (Self::Sequence(a), Self::Sequence(b)) => a == b,
            (Self::Mapping(a), Self::Mapping(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::String(text) => return hash_string(text, state),
            other => std::mem::discriminant(other).hash(state),
        }
        match self {
            Self::Null | Self::String(_) => {}
            Self::Bool(it) => it.hash(state),
            Self::Integer(it) => it.hash(state),
            Self::Float(it) => float_bits(*it).hash(state),
            Self::BigInteger(it) | Self::Symbol(it) => it.hash(state),
            Self::Binary(it) => it.hash(state),
            Self::Date(it) => it.hash(state),
            Self::Time(it) => it.hash(state),
            Self::Sequence(items) => items.hash(state),
            // Equal mappings may differ in order.
            Self::Mapping(mapping) => mapping.len().hash(state),
        }
    }
}

/// The bits of a float; both zeros are the same key.
fn float_bits(float: f64) -> u64 {
    if float == 0.0 { 0 } else { float.to_bits() }
}
