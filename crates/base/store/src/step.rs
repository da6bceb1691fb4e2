//! [`Step`]: one SQL statement with its parameters.

use crate::value::Value;

/// One SQL statement with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Step<'a> {
    pub(crate) sql: &'static str,
    pub(crate) values: Vec<Value<'a>>,
}

impl Step<'_> {
    /// Bytes of the text and blobs among the parameters.
    pub(crate) fn bytes(&self) -> usize {
        let length = |value: &Value<'_>| match value {
            Value::Null | Value::Int(_) => 0,
            Value::Text(text) => text.len(),
            Value::Blob(blob) => blob.len(),
        };
        self.values.iter().map(length).sum()
    }
}
