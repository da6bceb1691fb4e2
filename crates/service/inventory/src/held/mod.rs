//! Facts in memory: [`FactValue`], compact JSON whose equal parts are shared by nodes.
//!
//! Invariant: a value never changes, and converts back to exactly the JSON that it was made of.
//! Values are made by a [`Pool`]; a node's facts are a [`HeldRecord`].

mod pool;
mod record;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Number, Value};

pub(crate) use pool::Pool;
pub use record::HeldRecord;

/// An immutable fact, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactValue(pub(super) Kind);

/// Takes 24 bytes; a [`Value`] takes 72 in an object, and does not share strings and keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    Text(Arc<str>),
    List(Arc<[FactValue]>),
    Object(Arc<Object>),
}

/// An object. Objects with the same keys in the same order share the keys: every mount point,
/// every interface.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Object {
    keys: Keys,
    values: Box<[FactValue]>,
}

pub(super) type Keys = Arc<[Arc<str>]>;

// === impl FactValue ===

impl FactValue {
    /// The value under `key`; `None` if this is not an object or has no such key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Kind::Object(object) = &self.0 else {
            return None;
        };
        let at = object.keys.iter().position(|known| **known == *key)?;
        object.values.get(at)
    }

    /// The element at `index`, from 0; `None` if this is not a list or is shorter.
    pub fn at(&self, index: usize) -> Option<&Self> {
        match &self.0 {
            Kind::List(items) => items.get(index),
            _ => None,
        }
    }

    /// The entries of an object, in its order.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Self)> {
        let object = match &self.0 {
            Kind::Object(object) => Some(object),
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
            Kind::Text(text) => Some(Cow::Borrowed(text)),
            Kind::Bool(true) => Some(Cow::Borrowed("true")),
            Kind::Bool(false) => Some(Cow::Borrowed("false")),
            Kind::Number(number) => Some(Cow::Owned(number.to_string())),
            Kind::Null | Kind::List(_) | Kind::Object(_) => None,
        }
    }

    /// Converts the value to JSON.
    pub fn to_json(&self) -> Value {
        match &self.0 {
            Kind::Null => Value::Null,
            Kind::Bool(bool) => Value::Bool(*bool),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) => Value::String(text.as_ref().to_owned()),
            Kind::List(items) => items.iter().map(Self::to_json).collect(),
            Kind::Object(_) => Value::Object(self.to_map()),
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
    pub(crate) fn is(&self, value: &Value) -> bool {
        match (&self.0, value) {
            (Kind::Null, Value::Null) => true,
            (Kind::Bool(a), Value::Bool(b)) => a == b,
            (Kind::Number(a), Value::Number(b)) => a == b,
            (Kind::Text(a), Value::String(b)) => **a == **b,
            (Kind::List(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is(b))
            }
            (Kind::Object(a), Value::Object(b)) => {
                a.keys.len() == b.len()
                    && self
                        .entries()
                        .all(|(key, a)| b.get(key).is_some_and(|b| a.is(b)))
            }
            _ => false,
        }
    }

    /// The string; `None` for any other value.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The boolean; `None` for any other value.
    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self.0 {
            Kind::Bool(bool) => Some(bool),
            _ => None,
        }
    }

    /// The number; `None` for any other value.
    pub(crate) fn as_number(&self) -> Option<&Number> {
        match &self.0 {
            Kind::Number(number) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.0, Kind::Null)
    }
}
