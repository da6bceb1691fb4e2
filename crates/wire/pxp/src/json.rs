//! JSON values without duplicate keys.
//!
//! `serde_json`'s own `Value` keeps the last of two equal keys; a task would then run with a
//! different value than the one that was checked or shown. [`parse_strict`] refuses duplicates.

use std::fmt;

use decode_errors::DecodeError;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use crate::defaults::MAX_REASON_CHARS;

/// Parses a text as a value; duplicate keys at any depth are an error.
pub fn parse_strict(text: &str) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = StrictJsonSeed.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// For `#[serde(deserialize_with)]`: an object without duplicate keys.
pub(crate) fn strict_map<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Map<String, Value>, D::Error> {
    match StrictJsonSeed.deserialize(deserializer)? {
        Value::Object(map) => Ok(map),
        other => Err(D::Error::custom(format_args!(
            "must be an object, not {}",
            kind_name(&other)
        ))),
    }
}

/// For `#[serde(deserialize_with)]`: raw JSON that is an object.
pub(crate) fn raw_object<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Box<RawValue>, D::Error> {
    let raw = <Box<RawValue> as serde::Deserialize>::deserialize(deserializer)?;
    if raw.get().starts_with('{') {
        Ok(raw)
    } else {
        Err(D::Error::custom("must be an object"))
    }
}

/// The name of a value's JSON type, with its article.
pub fn kind_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// An error's text for logs and terminals, clipped to `MAX_REASON_CHARS` characters.
pub fn error_reason(error: &serde_json::Error) -> String {
    let text = DecodeError::from(error).to_string();
    text.chars().take(MAX_REASON_CHARS).collect()
}

struct StrictJsonSeed;

impl<'de> DeserializeSeed<'de> for StrictJsonSeed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictJsonSeed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Self)?;
            if object.contains_key(&key) {
                let key: String = key.chars().take(MAX_REASON_CHARS / 4).collect();
                return Err(A::Error::custom(format_args!("duplicate key {key:?}")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}
