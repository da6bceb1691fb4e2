//! The tree of a document: [`YamlTreeNode`].
//!
//! Equality is that of Ruby's hash keys, so it compares only values: 1 and 1.0 differ, and
//! positions and styles are ignored.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use indexmap::{Equivalent, IndexMap};

use crate::{YamlDate, YamlTime};

/// The entries of a mapping, in the order in which keys were first written.
pub type YamlMapping = IndexMap<YamlTreeNode, YamlTreeNode>;

/// A value, its position and its style. Clones share their contents.
///
/// The position of a block after `|` or `>` is the start of its text.
#[derive(Debug, Clone)]
pub struct YamlTreeNode {
    pub value: YamlValue,
    /// Line of the value, counted from 1.
    pub line: u32,
    /// Column of the value, counted from 1 in characters.
    pub column: u32,
    pub style: ScalarStyle,
}

/// The style of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarStyle {
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
pub enum YamlValue {
    Null,
    Bool(bool),
    Integer(i64),
    /// An integer of more than 64 bits, in decimal.
    BigInteger(Arc<str>),
    Float(f64),
    String(Arc<str>),
    Symbol(Arc<str>),
    Binary(Arc<[u8]>),
    Date(YamlDate),
    Time(YamlTime),
    Sequence(Arc<Vec<YamlTreeNode>>),
    Mapping(Arc<YamlMapping>),
}

impl YamlTreeNode {
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            YamlValue::String(text) => Some(text),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_mapping(&self) -> Option<&YamlMapping> {
        match &self.value {
            YamlValue::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_sequence(&self) -> Option<&[YamlTreeNode]> {
        match &self.value {
            YamlValue::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// The value of a string key, if this is a mapping that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&YamlTreeNode> {
        self.as_mapping()?.get(&YamlKey(key))
    }
}

/// A string that is equal to the node of that string, for access to the keys of a [`YamlMapping`].
#[derive(Debug, Clone, Copy)]
pub struct YamlKey<'k>(pub &'k str);

impl Equivalent<YamlTreeNode> for YamlKey<'_> {
    fn equivalent(&self, node: &YamlTreeNode) -> bool {
        node.as_str() == Some(self.0)
    }
}

impl Hash for YamlKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_string(self.0, state);
    }
}

/// The hash of a string, which is the same for [`YamlKey`] and [`YamlTreeNode`].
fn hash_string<H: Hasher>(text: &str, state: &mut H) {
    0u8.hash(state);
    text.hash(state);
}

impl PartialEq for YamlTreeNode {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Eq for YamlTreeNode {}

impl Hash for YamlTreeNode {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

impl PartialEq for YamlValue {
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

impl Eq for YamlValue {}

impl Hash for YamlValue {
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
