//! Reading a request body strictly: every error names its place.
//!
//! A type that is read here has `deny_unknown_fields` and neither `flatten` nor `untagged`,
//! which would lose the place.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::{Value, json};

use crate::{ApiError, kinds};

/// Reads one JSON document of type `T`.
///
/// # Errors
/// A validation error: no body, not JSON (with line and column), nested more than 127 levels
/// deep, or not of the shape (with the path of the value, and the key if it is unknown).
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        let msg = "the request has no body; a JSON object is expected";
        return Err(ApiError::new(kinds::VALIDATION, msg));
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    let Keyed(value) = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        refusal(&path, error.inner())
    })?;
    reader.end().map_err(|error| refusal(".", &error))?;
    Ok(value)
}

/// `null` and absence as the default: real clients send `"noop": null`.
pub(crate) fn null_is_default<'de, D, T>(reader: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(reader)?.unwrap_or_default())
}

/// A structure from a JSON object only: serde's derived code takes arrays as well.
pub(crate) fn keyed<'de, D, T>(reader: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    reader.deserialize_map(KeyedVisitor(PhantomData))
}

struct Keyed<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Keyed<T> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        keyed(reader).map(Self)
    }
}

struct KeyedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for KeyedVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

fn refusal(path: &str, error: &serde_json::Error) -> ApiError {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    // The position is given apart, and is of no help where the path says it.
    let what = text
        .strip_suffix(&format!(" at line {line} column {column}"))
        .unwrap_or(&text);
    if !error.is_data() {
        let msg = format!("the body is not JSON: {what} at line {line} column {column}");
        return ApiError::new(kinds::VALIDATION, msg)
            .with("line", json!(line))
            .with("column", json!(column));
    }
    let place = if path == "." { "the body" } else { path };
    let refused = ApiError::new(kinds::VALIDATION, format!("{place}: {what}"))
        .with("path", json!(path))
        .with("line", json!(line))
        .with("column", json!(column));
    match unknown_key(what) {
        Some(key) => refused.with("key", Value::String(key.to_owned())),
        None => refused,
    }
}

/// The key in serde's "unknown field `key`, expected …".
fn unknown_key(what: &str) -> Option<&str> {
    what.strip_prefix("unknown field `")?
        .split_once("`, ")
        .map(|(key, _)| key)
}
