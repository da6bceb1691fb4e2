//! Strict decoding of request bodies: every error names its path.
//!
//! Invariant: a type that is decoded here has `deny_unknown_fields` and neither `flatten` nor
//! `untagged`, which would lose the path.

use decode_errors::{DecodeError, json};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer};
use serde_json::Value;

pub(crate) use decode_errors::json::deserialize_object;

use crate::{ApiError, kinds};

/// Body of a request that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestBodyError {
    /// The request has no body.
    Empty,
    /// The body is not JSON, or does not have the shape that the route needs.
    Unreadable(DecodeError),
}

/// Decodes one JSON document of type `T`.
///
/// # Errors
/// A validation error: no body, not JSON (with line and column), nested more than 127 levels
/// deep, or not of the shape (with the path of the value, and the key if it is unknown).
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    read(body).map_err(|error| ApiError::from(&error))
}

/// Decodes like [`decode`], for routes whose errors have a format of their own.
///
/// # Errors
/// As [`decode`].
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, RequestBodyError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Err(RequestBodyError::Empty);
    }
    json::object_from_slice(body).map_err(RequestBodyError::Unreadable)
}

impl From<&RequestBodyError> for ApiError {
    fn from(error: &RequestBodyError) -> Self {
        match error {
            RequestBodyError::Empty => {
                let msg = "the request has no body; a JSON object is expected";
                Self::new(kinds::VALIDATION, msg)
            }
            RequestBodyError::Unreadable(error) => refusal(error),
        }
    }
}

/// Reads `null` and absence as the default: existing clients send `"noop": null`.
pub(crate) fn null_is_default<'de, D, T>(reader: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(reader)?.unwrap_or_default())
}

fn refusal(error: &DecodeError) -> ApiError {
    let msg = match (error.is_syntax(), error.subject()) {
        (true, _) => format!("the body is {error}"),
        // The position is left out, because the path names the place.
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
