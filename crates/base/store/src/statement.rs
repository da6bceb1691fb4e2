//! [`SqlStatement`]: one SQL statement with its parameters.

use crate::value::SqlValue;

/// One SQL statement with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct SqlStatement<'a> {
    pub(crate) sql: &'static str,
    pub(crate) values: Vec<SqlValue<'a>>,
}

impl<'a> SqlStatement<'a> {
    pub(crate) fn new(sql: &'static str, values: Vec<SqlValue<'a>>) -> Self {
        Self { sql, values }
    }

    pub(crate) fn into_owned(self) -> SqlStatement<'static> {
        SqlStatement::new(self.sql, SqlValue::own_all(self.values))
    }

    /// Bytes of the text and blobs among the parameters.
    pub(crate) fn byte_len(&self) -> usize {
        let length = |value: &SqlValue<'_>| match value {
            SqlValue::Null | SqlValue::Int(_) => 0,
            SqlValue::Text(text) => text.len(),
            SqlValue::Blob(blob) => blob.len(),
        };
        self.values.iter().map(length).sum()
    }
}
