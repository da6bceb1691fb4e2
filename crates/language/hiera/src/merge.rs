//! Merging of values from several locations: [`MergeStrategy`].

use std::sync::Arc;

use pcore::{Hash, Value};

use crate::Error;
use crate::deep::{DeepOptions, deep_merge};

/// A merge strategy with its options.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MergeStrategy {
    /// No strategy is given, which means `first`.
    Default,
    First,
    Unique,
    Hash,
    Deep {
        options: DeepOptions,
        /// The options as they were written, without the strategy.
        written: Hash,
    },
}

impl MergeStrategy {
    /// Parses a name, a hash with `strategy`, or no value.
    pub(crate) fn from_value(value: &Value) -> Result<Self, Error> {
        match value {
            Value::Undef | Value::Bool(false) => Ok(Self::Default),
            Value::Str(name) => Self::from_name(name, None),
            Value::Hash(options) => match options.get_str("strategy") {
                Some(Value::Str(name)) => Self::from_name(name, Some(options)),
                _ => Err(Error::data(
                    "The hash given as 'merge' must contain the name of a strategy in string form \
                     for the key 'strategy'",
                )),
            },
            other => Self::from_name(&crate::explain::plain_text(other), None),
        }
    }

    fn from_name(name: &str, options: Option<&Hash>) -> Result<Self, Error> {
        let written: Hash = options
            .into_iter()
            .flat_map(Hash::iter)
            .filter(|(key, _)| !matches!(key, Value::Str(key) if &**key == "strategy"))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let plain = match name {
            "deep" => {
                let options = DeepOptions::of(&written)?;
                return Ok(Self::Deep { options, written });
            }
            "first" => Self::First,
            "unique" => Self::Unique,
            "hash" => Self::Hash,
            "default" => Self::Default,
            _ => {
                let text = format!("Unknown merge strategy: '{name}'");
                return Err(Error::data(text));
            }
        };
        match written.keys().next() {
            Some(key) => Err(Error::data(format!(
                "The merge options has wrong type, unrecognized key '{}'",
                crate::explain::plain_text(key)
            ))),
            None => Ok(plain),
        }
    }

    /// The name in the output of `lookup --explain`.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::First => "first",
            Self::Unique => "unique",
            Self::Hash => "hash",
            Self::Deep { .. } => "deep",
        }
    }

    pub(crate) fn takes_first(&self) -> bool {
        matches!(self, Self::Default | Self::First)
    }

    /// Prepares the first value found, before others are merged into it.
    pub(crate) fn start(&self, value: Value) -> Value {
        match self {
            Self::Unique => Value::array(flatten_once(&value)),
            _ => value,
        }
    }

    /// Prepares the only value of a lookup without a merge.
    pub(crate) fn apply_to_single(&self, value: Value) -> Value {
        match (self, &value) {
            (Self::Unique, Value::Array(items)) => Value::array(unique(items.iter().cloned())),
            _ => value,
        }
    }

    /// Merges a value with one of lower priority.
    pub(crate) fn merge(&self, high: &Value, low: &Value) -> Result<Value, Error> {
        match self {
            Self::Default | Self::First => Ok(high.clone()),
            Self::Unique => {
                for (which, value) in [("first", high), ("second", low)] {
                    if matches!(value, Value::Hash(_)) {
                        return Err(type_error(which, "a value of type Scalar or Array", value));
                    }
                }
                Ok(Value::array(unique(
                    flatten_once(high).into_iter().chain(flatten_once(low)),
                )))
            }
            Self::Hash => match (high, low) {
                (Value::Hash(high), Value::Hash(low)) => {
                    let mut merged = Hash::clone(low);
                    merged.extend(high.iter().map(|(key, value)| (key.clone(), value.clone())));
                    Ok(Value::Hash(Arc::new(merged)))
                }
                (Value::Hash(_), other) => Err(type_error("second", "a Hash value", other)),
                (other, _) => Err(type_error("first", "a Hash value", other)),
            },
            Self::Deep { options, .. } => deep_merge(high.clone(), low.clone(), options),
        }
    }
}

fn type_error(which: &str, expected: &str, value: &Value) -> Error {
    let name = pcore::Type::infer_detailed(value).to_string();
    let name = name.split('[').next().unwrap_or_default();
    Error::data(format!(
        "The {which} element of the merge has wrong type, expects {expected}, got {name}"
    ))
}

fn flatten_once(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.iter().flat_map(flatten_once).collect(),
        other => vec![other.clone()],
    }
}

pub(crate) fn unique(values: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut seen = Hash::new();
    let first = |value: &Value| seen.insert(value.clone(), Value::Undef).is_none();
    values.filter(first).collect()
}
