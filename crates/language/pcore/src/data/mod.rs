//! Values as JSON: plain data ([`Value::to_json`]), and rich data, which can represent values of
//! every type ([`Value::to_rich_json`]).
//!
//! Invariant: rich data reads back as an equal value; plain data refuses values that JSON cannot
//! represent instead of converting them to texts.

mod from_rich;
mod rich;
mod type_from_rich;
mod type_to_rich;

use serde_json::{Map, Number, Value as Json};

use crate::convert::ConversionError;
use crate::types::Type;
use crate::value::{Hash, Value};

/// The key that names the type of a rich value.
pub(crate) const TYPE_KEY: &str = "__ptype";
/// The key of the argument from which a rich value is created.
pub(crate) const VALUE_KEY: &str = "__pvalue";

/// A value cannot be represented in JSON, or a JSON value not in the language.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RichDataError {
    #[error("{path} holds a value of type {ty}, which is not Data")]
    NotData { path: String, ty: String },
    #[error("{path} has a key of type {ty}, and keys of Data are texts")]
    KeyNotText { path: String, ty: String },
    #[error("{path} holds a number that JSON has not")]
    NotANumber { path: String },
    #[error("Endless recursion detected when attempting to serialize value of type {0}")]
    Recursive(String),
    #[error("No implementation mapping found for Puppet Type {0}")]
    UnknownType(String),
    #[error("rich data of type {0} is not in its form")]
    Malformed(String),
    #[error(transparent)]
    Conversion(#[from] ConversionError),
}

impl Value {
    /// The value of plain JSON. Integers that do not fit into 64 bits become floats.
    #[must_use]
    pub fn from_json(json: &Json) -> Self {
        match json {
            Json::Null => Self::Undef,
            Json::Bool(flag) => Self::Bool(*flag),
            Json::Number(number) => number_from_json(number),
            Json::String(text) => Self::from(text.as_str()),
            Json::Array(values) => values
                .iter()
                .map(Self::from_json)
                .collect::<Vec<_>>()
                .into(),
            Json::Object(entries) => {
                let entries: Hash = entries
                    .iter()
                    .map(|(key, value)| (key.as_str(), Self::from_json(value)))
                    .collect();
                entries.into()
            }
        }
    }

    /// Plain JSON of a value that is `Data`.
    pub fn to_json(&self) -> Result<Json, RichDataError> {
        plain(self, &mut Vec::new())
    }

    /// Rich data: a value that JSON cannot represent becomes an object with `__ptype`.
    pub fn to_rich_json(&self) -> Result<Json, RichDataError> {
        rich::to_rich(self)
    }

    /// Converts rich data to a value; `lookup` finds types that are not Puppet's own.
    pub fn from_rich_json(
        json: &Json,
        lookup: &dyn Fn(&str) -> Option<Type>,
    ) -> Result<Self, RichDataError> {
        from_rich::from_rich(json, lookup)
    }
}

fn number_from_json(number: &Number) -> Value {
    match (number.as_i64(), number.as_f64()) {
        (Some(number), _) => Value::Int(number),
        (None, Some(number)) => Value::Float(number),
        (None, None) => Value::Undef,
    }
}

fn plain(value: &Value, path: &mut Vec<String>) -> Result<Json, RichDataError> {
    Ok(match value {
        Value::Undef => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Int(number) => Json::from(*number),
        Value::Float(number) => {
            float(*number).ok_or_else(|| RichDataError::NotANumber { path: shown(path) })?
        }
        Value::Str(text) => Json::String(text.to_string()),
        Value::Array(values) => {
            let mut list = Vec::with_capacity(values.len());
            for (index, value) in values.iter().enumerate() {
                path.push(format!("[{index}]"));
                list.push(plain(value, path)?);
                path.pop();
            }
            Json::Array(list)
        }
        Value::Hash(entries) => {
            let mut object = Map::with_capacity(entries.len());
            for (key, value) in entries.iter() {
                let Value::Str(text) = key else {
                    return Err(RichDataError::KeyNotText {
                        path: shown(path),
                        ty: Type::infer(key).generalize().to_string(),
                    });
                };
                path.push(format!("['{text}']"));
                object.insert(text.to_string(), plain(value, path)?);
                path.pop();
            }
            Json::Object(object)
        }
        other => {
            return Err(RichDataError::NotData {
                path: shown(path),
                ty: Type::infer(other).name(),
            });
        }
    })
}

/// A float as JSON; `None` for NaN and infinities.
fn float(number: f64) -> Option<Json> {
    Number::from_f64(number).map(Json::Number)
}

fn shown(path: &[String]) -> String {
    format!("the value{}", path.concat())
}
