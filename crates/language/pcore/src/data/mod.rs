//! Values as JSON: plain data ([`Value::to_json`]), and rich data, which can represent values of
//! every type ([`Value::to_rich_json`]).
//!
//! Invariant: rich data reads back as an equal value; plain data refuses values that JSON cannot
//! represent instead of converting them to texts.

mod error;
mod from_rich;
mod rich;
mod type_from_rich;
mod type_to_rich;

pub use error::RichDataError;
use error::float;
pub(crate) use error::{TYPE_KEY, VALUE_KEY};
use serde_json::{Map, Number, Value as Json};

use crate::types::Type;
use crate::value::{Hash, Value};

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

fn shown(path: &[String]) -> String {
    format!("the value{}", path.concat())
}
