//! Parameters and columns, the same for both engines.
//!
//! [`SqlValue`] is written, [`RowColumns`] are read. Invariant: PostgreSQL has no NUL in text, so
//! on both engines every NUL is written as U+2400 (`␀`). JSON columns lose nothing by it, since
//! JSON text has `\u0000` where the value has a NUL.

use std::borrow::Cow;
use std::error::Error;

use rusqlite::types::{ToSqlOutput, ValueRef};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type};

/// A parameter of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SqlValue<'a> {
    Null,
    Int(i64),
    Text(Cow<'a, str>),
    Blob(Cow<'a, [u8]>),
}

/// One row of a result, read by position.
pub(crate) trait RowColumns {
    fn opt_int(&self, index: usize) -> Result<Option<i64>, ColumnError>;
    fn opt_text(&self, index: usize) -> Result<Option<String>, ColumnError>;
    fn opt_blob(&self, index: usize) -> Result<Option<Vec<u8>>, ColumnError>;

    fn int(&self, index: usize) -> Result<i64, ColumnError> {
        self.opt_int(index)?.ok_or_else(|| ColumnError::null(index))
    }

    fn text(&self, index: usize) -> Result<String, ColumnError> {
        self.opt_text(index)?
            .ok_or_else(|| ColumnError::null(index))
    }

    fn blob(&self, index: usize) -> Result<Vec<u8>, ColumnError> {
        self.opt_blob(index)?
            .ok_or_else(|| ColumnError::null(index))
    }

    /// Reads a SHA-256.
    fn hash(&self, index: usize) -> Result<[u8; 32], ColumnError> {
        let bytes = self.blob(index)?;
        let length = bytes.len();
        bytes
            .try_into()
            .map_err(|_| ColumnError::new(index, format!("has {length} bytes, and a hash has 32")))
    }
}

/// A type that is read from a row.
pub(crate) trait FromRow: Sized + Send + 'static {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError>;
}

/// A column contains a value that the schema forbids: another program changed the database.
#[derive(Clone, Debug, thiserror::Error)]
#[error("column {index} of the row: {what}")]
pub(crate) struct ColumnError {
    index: usize,
    what: String,
}

// === impl SqlValue ===

impl<'a> SqlValue<'a> {
    pub(crate) fn text(text: &'a str) -> Self {
        Self::Text(replace_nul(text))
    }

    pub(crate) fn opt_text(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::text)
    }

    pub(crate) fn owned_text(text: &str) -> SqlValue<'static> {
        SqlValue::Text(Cow::Owned(replace_nul(text).into_owned()))
    }

    pub(crate) fn opt_owned_text(text: Option<&str>) -> SqlValue<'static> {
        text.map_or(SqlValue::Null, SqlValue::owned_text)
    }

    pub(crate) fn opt_int(int: Option<i64>) -> Self {
        int.map_or(Self::Null, Self::Int)
    }

    pub(crate) fn blob(bytes: &'a [u8]) -> Self {
        Self::Blob(Cow::Borrowed(bytes))
    }
}

pub(crate) fn replace_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{2400}"))
    } else {
        Cow::Borrowed(text)
    }
}

impl rusqlite::ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(int) => ValueRef::Integer(*int),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl ToSql for SqlValue<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(int) => int.to_sql_checked(ty, out),
            Self::Text(text) => text.to_sql_checked(ty, out),
            Self::Blob(bytes) => (&**bytes).to_sql_checked(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // Each variant is checked when it is written.
        true
    }

    tokio_postgres::types::to_sql_checked!();
}

// === impl ColumnError ===

impl ColumnError {
    pub(crate) fn new(index: usize, what: impl ToString) -> Self {
        Self {
            index,
            what: what.to_string(),
        }
    }

    fn null(index: usize) -> Self {
        Self::new(index, "is null")
    }
}

// === impl RowColumns ===

impl RowColumns for rusqlite::Row<'_> {
    fn opt_int(&self, index: usize) -> Result<Option<i64>, ColumnError> {
        self.get(index)
            .map_err(|error| ColumnError::new(index, error))
    }

    fn opt_text(&self, index: usize) -> Result<Option<String>, ColumnError> {
        self.get(index)
            .map_err(|error| ColumnError::new(index, error))
    }

    fn opt_blob(&self, index: usize) -> Result<Option<Vec<u8>>, ColumnError> {
        self.get(index)
            .map_err(|error| ColumnError::new(index, error))
    }
}

impl RowColumns for tokio_postgres::Row {
    fn opt_int(&self, index: usize) -> Result<Option<i64>, ColumnError> {
        self.try_get(index)
            .map_err(|error| ColumnError::new(index, error))
    }

    fn opt_text(&self, index: usize) -> Result<Option<String>, ColumnError> {
        self.try_get(index)
            .map_err(|error| ColumnError::new(index, error))
    }

    fn opt_blob(&self, index: usize) -> Result<Option<Vec<u8>>, ColumnError> {
        self.try_get(index)
            .map_err(|error| ColumnError::new(index, error))
    }
}

// === impl FromRow ===

impl FromRow for i64 {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        row.int(0)
    }
}

impl FromRow for String {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        row.text(0)
    }
}

impl FromRow for (String, String) {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok((row.text(0)?, row.text(1)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nul_becomes_a_visible_character_and_other_text_is_borrowed() {
        assert_eq!(
            SqlValue::text("a\0b"),
            SqlValue::Text(Cow::Borrowed("a\u{2400}b"))
        );
        assert!(matches!(
            SqlValue::text("a\\u0000b"),
            SqlValue::Text(Cow::Borrowed("a\\u0000b"))
        ));
    }
}
