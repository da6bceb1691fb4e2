//! Reading JSON: [`from_str`], [`from_slice`], [`object_from_slice`] and [`from_value`], with the
//! path of a wrong value in the error.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::error::{DecodeError, DecodeProblem, DocumentFormat};
use crate::mismatch::DecodeMismatch;

/// Parses a whole text.
///
/// # Errors
/// The text is not JSON, or its content is not of type `T`.
pub fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, DecodeError> {
    from_slice(text.as_bytes())
}

/// Parses a whole text in bytes.
///
/// # Errors
/// The text is not JSON in UTF-8, or its content is not of type `T`.
pub fn from_slice<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Result<T, DecodeError> {
    serde_json::from_slice(text).map_err(|error| match error.is_data() {
        // Tracking paths takes time and only errors need them, so an invalid text is parsed twice.
        true => find_error_path::<T>(text).unwrap_or_else(|| DecodeError::from(&error)),
        false => DecodeError::from(&error),
    })
}

/// Parses a whole text whose root must be an object. [`from_slice`] also reads a structure from an
/// array of its fields, because serde's derived code does.
///
/// # Errors
/// The text is not a JSON object in UTF-8, or its content is not of type `T`.
pub fn object_from_slice<T: DeserializeOwned>(text: &[u8]) -> Result<T, DecodeError> {
    let KeyedObject(value) = from_slice(text)?;
    Ok(value)
}

/// Deserializes a structure from an object only, for fields: `#[serde(deserialize_with = "…")]`.
///
/// # Errors
/// The value is no object, or not of type `T`.
pub fn deserialize_object<'de, D, T>(reader: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    reader.deserialize_map(KeyedVisitor(PhantomData))
}

struct KeyedObject<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for KeyedObject<T> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        deserialize_object(reader).map(Self)
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

/// Converts a parsed value; the error has a path and no position.
///
/// # Errors
/// The value is not of type `T`.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, DecodeError> {
    serde_path_to_error::deserialize(value).map_err(|error| to_decode_error(&error))
}

fn find_error_path<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Option<DecodeError> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let read: Result<T, _> = serde_path_to_error::deserialize(&mut reader);
    read.err().map(|error| to_decode_error(&error))
}

fn to_decode_error(error: &serde_path_to_error::Error<serde_json::Error>) -> DecodeError {
    let path = error.path().to_string();
    DecodeError {
        path: if path == "." { String::new() } else { path },
        ..DecodeError::from(error.inner())
    }
}

impl From<&serde_json::Error> for DecodeError {
    fn from(error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        let text = text
            .strip_suffix(&format!(" at line {line} column {column}"))
            .unwrap_or(&text);
        let problem = match error.classify() {
            serde_json::error::Category::Data => {
                DecodeProblem::Mismatch(DecodeMismatch::parse(text))
            }
            serde_json::error::Category::Io => DecodeProblem::Unreadable,
            serde_json::error::Category::Syntax | serde_json::error::Category::Eof => {
                DecodeProblem::Syntax(describe_syntax_error(text))
            }
        };
        Self {
            format: DocumentFormat::Json,
            problem: Box::new(problem),
            path: String::new(),
            // Column 0 means that the value is at the start of the text.
            position: (line > 0).then_some((line, column.max(1))),
        }
    }
}

impl From<serde_json::Error> for DecodeError {
    fn from(error: serde_json::Error) -> Self {
        Self::from(&error)
    }
}

/// The message for a syntax error of `serde_json::error::ErrorCode`, with the next step.
fn describe_syntax_error(text: &str) -> &'static str {
    match text {
        "EOF while parsing a list" => "the text ends inside an array; close it with ]",
        "EOF while parsing an object" => "the text ends inside an object; close it with }",
        "EOF while parsing a string" => "the text ends inside a string; close it with \"",
        "EOF while parsing a value" => "the text ends where a value is needed",
        "expected `:`" => "write a colon between the key and its value",
        "expected `,` or `]`" => "write a comma between two values, or ] after the last one",
        "expected `,` or `}`" => "write a comma between two keys, or } after the last value",
        "expected ident" => "true, false or null is misspelt",
        "expected value" => {
            "write a value here: a string in double quotes, a number, true, false, null, [ or {"
        }
        "expected `\"`" => "write a string in double quotes here",
        "invalid escape" => "unknown escape in a string; write \\\\ for a backslash",
        "invalid number" => "a number is not written as JSON writes numbers",
        "number out of range" => "a number is too large",
        "invalid unicode code point" => "a string has bytes that are not UTF-8",
        "control character (\\u0000-\\u001F) found while parsing a string" => {
            "a string has a line break or another control character; write \\n for a line break"
        }
        "key must be a string" => "write the key in double quotes",
        "invalid value: expected key to be a number in quotes" => {
            "write the key as a number in double quotes"
        }
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => {
            "a \\u escape in a string has only half of its character; write the other half behind it"
        }
        "trailing comma" => "remove the comma before the closing bracket",
        "trailing characters" => "remove what follows the end of the value",
        "recursion limit exceeded" => "values are nested more than 127 levels deep",
        _ => "the text cannot be understood here",
    }
}
