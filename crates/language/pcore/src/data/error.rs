//! Errors and keys of rich data: [`RichDataError`].

use crate::convert::ConversionError;
use serde_json::{Number, Value as Json};

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

/// A float as JSON; `None` for NaN and infinities.
pub(super) fn float(number: f64) -> Option<Json> {
    Number::from_f64(number).map(Json::Number)
}
