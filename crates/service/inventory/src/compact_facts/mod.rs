//! Facts in memory: [`FactValue`], compact JSON whose equal parts are shared by nodes.
//!
//! Invariant: a value never changes, and converts back to exactly the JSON that it was created
//! from. A [`ValuePool`] creates values; a node's facts are a [`CompactNodeRecord`].

mod pool;
mod record;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Number, Value};

pub(crate) use pool::ValuePool;
pub use record::CompactNodeRecord;

/// An immutable fact, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactValue(pub(super) FactData);

/// Takes 24 bytes; a [`Value`] takes 72 in an object, and does not share strings and keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FactData {
    Null,
    Bool(bool),
    Number(Number),
    Text(Arc<str>),
    List(Arc<[FactValue]>),
    Object(Arc<FactObject>),
}

/// An object. Objects with the same keys in the same order share the keys: every mount point,
/// every interface.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FactObject {
    keys: ObjectKeys,
    values: Box<[FactValue]>,
}

pub(super) type ObjectKeys = Arc<[Arc<str>]>;

// === impl FactValue ===

impl FactValue {
    /// The value under `key`; `None` if this is not an object or has no such key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let FactData::Object(object) = &self.0 else {
            return None;
        };
        let at = object.keys.iter().position(|known| **known == *key)?;
        object.values.get(at)
    }

    /// The element at `index`, from 0; `None` if this is not a list or is shorter.
    pub fn element_at(&self, index: usize) -> Option<&Self> {
        match &self.0 {
            FactData::List(items) => items.get(index),
            _ => None,
        }
    }

    /// The entries of an object, in its order.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Self)> {
        let object = match &self.0 {
            FactData::Object(object) => Some(object),
            _ => None,
        };
        let entries = object.map(|object| object.keys.iter().zip(&object.values));
        entries
            .into_iter()
            .flatten()
            .map(|(key, value)| (&**key, value))
    }

    /// A string, boolean or number as text; `None` for any other value.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        match &self.0 {
            FactData::Text(text) => Some(Cow::Borrowed(text)),
            FactData::Bool(true) => Some(Cow::Borrowed("true")),
            FactData::Bool(false) => Some(Cow::Borrowed("false")),
            FactData::Number(number) => Some(Cow::Owned(number.to_string())),
            FactData::Null | FactData::List(_) | FactData::Object(_) => None,
        }
    }

    /// Converts the value to JSON.
    pub fn to_json(&self) -> Value {
        match &self.0 {
            FactData::Null => Value::Null,
            FactData::Bool(bool) => Value::Bool(*bool),
            FactData::Number(number) => Value::Number(number.clone()),
            FactData::Text(text) => Value::String(text.as_ref().to_owned()),
            FactData::List(items) => items.iter().map(Self::to_json).collect(),
            FactData::Object(_) => Value::Object(self.to_map()),
        }
    }

    /// The entries as JSON; empty if this is not an object.
    pub(crate) fn to_map(&self) -> Map<String, Value> {
        let entries = self.entries();
        entries
            .map(|(key, value)| (key.to_owned(), value.to_json()))
            .collect()
    }

    /// Returns `true` if this is the same JSON, with numbers compared by their kind and objects in
    /// any order.
    pub(crate) fn equals_json(&self, value: &Value) -> bool {
        match (&self.0, value) {
            (FactData::Null, Value::Null) => true,
            (FactData::Bool(a), Value::Bool(b)) => a == b,
            (FactData::Number(a), Value::Number(b)) => a == b,
            (FactData::Text(a), Value::String(b)) => **a == **b,
            (FactData::List(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals_json(b))
            }
            (FactData::Object(a), Value::Object(b)) => {
                a.keys.len() == b.len()
                    && self
                        .entries()
                        .all(|(key, a)| b.get(key).is_some_and(|b| a.equals_json(b)))
            }
            _ => false,
        }
    }

    /// The string; `None` for any other value.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.0 {
            FactData::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The boolean; `None` for any other value.
    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self.0 {
            FactData::Bool(bool) => Some(bool),
            _ => None,
        }
    }

    /// The number; `None` for any other value.
    pub(crate) fn as_number(&self) -> Option<&Number> {
        match &self.0 {
            FactData::Number(number) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.0, FactData::Null)
    }
}
