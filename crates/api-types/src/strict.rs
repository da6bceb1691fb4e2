//! Reading a request body strictly: every error names its place.
//!
//! A type that is read here has `deny_unknown_fields` and neither `flatten` nor `untagged`,
//! which would lose the place.

use std::fmt;
use std::marker::PhantomData;

use decode_errors::{DecodeError, json};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::Value;

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
    let Keyed(value) = json::from_slice(body).map_err(|error| refusal(&error))?;
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

fn refusal(error: &DecodeError) -> ApiError {
    let msg = match (error.is_syntax(), error.subject()) {
        (true, _) => format!("the body is {error}"),
        // The position is a detail, and of no help where the path says it.
        (false, path) if path.is_empty() => format!("the body: {}", error.problem()),
        (false, path) => format!("{path}: {}", error.problem()),
    };
    let mut refused = ApiError::new(kinds::VALIDATION, msg);
    if !error.is_syntax() {
        let path = if error.path().is_empty() {
            "."
        } else {
            error.path()
        };
        refused = refused.with("path", Value::from(path));
    }
    if let Some((line, column)) = error.position() {
        refused = refused
            .with("line", Value::from(line))
            .with("column", Value::from(column));
    }
    match error.unknown_key() {
        Some(key) => refused.with("key", Value::String(key.to_owned())),
        None => refused,
    }
}
