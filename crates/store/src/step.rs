//! [`Step`]: one statement.

use crate::value::Value;

/// One statement with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Step<'a> {
    pub(crate) sql: &'static str,
    pub(crate) values: Vec<Value<'a>>,
}
