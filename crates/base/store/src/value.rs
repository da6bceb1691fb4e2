//! Parameters and columns, the same for both engines.
//!
//! [`ToValues`] is written, [`FromRow`] is read, both as [`SqlValue`]s. Invariant: PostgreSQL has
//! no NUL in text, so on both engines every NUL is written as U+2400 (`␀`). JSON columns lose
//! nothing by it, since JSON text has `\u0000` where the value has a NUL.

use std::borrow::Cow;
use std::error::Error;

use rusqlite::types::{ToSqlOutput, ValueRef};
use tokio_postgres::Column;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type};

use crate::JobNumber;

/// A parameter of a statement, or a column of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SqlValue<'a> {
    Null,
    Int(i64),
    Text(Cow<'a, str>),
    Blob(Cow<'a, [u8]>),
}

/// One row of a result.
pub(crate) trait RowColumns {
    fn is_null(&self, index: usize) -> bool;
    fn value(&self, index: usize) -> Result<SqlValue<'_>, ColumnError>;
}

/// A row whose columns are read one after the other.
pub(crate) struct ColumnReader<'a> {
    row: &'a dyn RowColumns,
    next: usize,
}

/// A type that is read from consecutive columns of a row.
pub(crate) trait FromRow: Sized + Send + 'static {
    /// Number of columns that are read.
    const COUNT: usize = 1;

    fn read(columns: &mut ColumnReader<'_>) -> Result<Self, ColumnError>;

    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Self::read(&mut ColumnReader { row, next: 0 })
    }
}

/// A value, or a reference to one, that is written as consecutive parameters of a statement.
pub(crate) trait ToValues<'a> {
    fn add_to(self, values: &mut Vec<SqlValue<'a>>);
}

/// The parameters of a statement: `values![plan_job, key, row.state]`. A row adds all its columns;
/// texts are borrowed.
macro_rules! values {
    ($($value:expr),+ $(,)?) => {{
        use $crate::value::ToValues as _;
        let mut values = Vec::new();
        $($value.add_to(&mut values);)+
        values
    }};
}
pub(crate) use values;

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

    fn blob(bytes: &'a [u8]) -> Self {
        Self::Blob(Cow::Borrowed(bytes))
    }

    /// Copies the borrowed values.
    pub(crate) fn own_all(values: Vec<Self>) -> Vec<SqlValue<'static>> {
        values.into_iter().map(Self::into_owned).collect()
    }

    fn into_owned(self) -> SqlValue<'static> {
        match self {
            Self::Null => SqlValue::Null,
            Self::Int(int) => SqlValue::Int(int),
            Self::Text(text) => SqlValue::Text(Cow::Owned(text.into_owned())),
            Self::Blob(bytes) => SqlValue::Blob(Cow::Owned(bytes.into_owned())),
        }
    }
}

pub(crate) fn replace_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{2400}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// A count as the databases store it.
pub(crate) fn to_sql_count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
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
}

// === impl ColumnReader ===

impl<'a> ColumnReader<'a> {
    fn next(&mut self) -> Result<SqlValue<'a>, ColumnError> {
        self.next += 1;
        self.row.value(self.next - 1)
    }

    /// An error of the column that was read last.
    fn error(&self, what: impl ToString) -> ColumnError {
        ColumnError::new(self.next - 1, what)
    }

    fn mismatch(&self, value: &SqlValue<'_>) -> ColumnError {
        self.error(match value {
            SqlValue::Null => "is null",
            SqlValue::Int(_) => "is an integer",
            SqlValue::Text(_) => "is a text",
            SqlValue::Blob(_) => "is binary",
        })
    }
}

// === impl RowColumns ===

impl RowColumns for rusqlite::Row<'_> {
    fn is_null(&self, index: usize) -> bool {
        matches!(self.get_ref(index), Ok(ValueRef::Null))
    }

    fn value(&self, index: usize) -> Result<SqlValue<'_>, ColumnError> {
        let error = |error: &dyn Error| ColumnError::new(index, error);
        match self.get_ref(index).map_err(|cause| error(&cause))? {
            ValueRef::Null => Ok(SqlValue::Null),
            ValueRef::Integer(int) => Ok(SqlValue::Int(int)),
            ValueRef::Real(_) => Err(ColumnError::new(index, "is a floating-point number")),
            ValueRef::Text(text) => std::str::from_utf8(text)
                .map(|text| SqlValue::Text(text.into()))
                .map_err(|cause| error(&cause)),
            ValueRef::Blob(bytes) => Ok(SqlValue::Blob(bytes.into())),
        }
    }
}

impl RowColumns for tokio_postgres::Row {
    fn is_null(&self, index: usize) -> bool {
        matches!(self.try_get::<_, Option<AnyValue>>(index), Ok(None))
    }

    fn value(&self, index: usize) -> Result<SqlValue<'_>, ColumnError> {
        let value = match self.columns().get(index).map(Column::type_) {
            Some(&Type::INT8) => self
                .try_get(index)
                .map(|int: Option<i64>| int.map(SqlValue::Int)),
            Some(&Type::BYTEA) => {
                let bytes = self.try_get(index);
                bytes.map(|bytes: Option<&[u8]>| bytes.map(SqlValue::blob))
            }
            _ => {
                let text = self.try_get(index);
                text.map(|text: Option<&str>| text.map(|text| SqlValue::Text(text.into())))
            }
        };
        let value = value.map_err(|error| ColumnError::new(index, error))?;
        Ok(value.unwrap_or(SqlValue::Null))
    }
}

/// A value of PostgreSQL that is not null.
struct AnyValue;

impl FromSql<'_> for AnyValue {
    fn from_sql(_: &Type, _: &[u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

// === impl FromRow ===

macro_rules! from_column {
    ($($type:ty: $variant:ident($value:ident) => $read:expr;)*) => {$(
        impl FromRow for $type {
            fn read(columns: &mut ColumnReader<'_>) -> Result<Self, ColumnError> {
                match columns.next()? {
                    SqlValue::$variant($value) => Ok($read),
                    other => Err(columns.mismatch(&other)),
                }
            }
        }
    )*};
}

from_column! {
    i64: Int(int) => int;
    u64: Int(int) => int.unsigned_abs();
    // One damaged row must not fail a list: a starting server reads all unfinished jobs at once. All
    // these are numbers of batches; a run of none that exists must not begin before others.
    u32: Int(int) => int.try_into().unwrap_or(Self::MAX);
    bool: Int(int) => int != 0;
    JobNumber: Int(int) => Self::from_column(int);
    String: Text(text) => text.into_owned();
    Vec<u8>: Blob(bytes) => bytes.into_owned();
}

/// A SHA-256.
impl FromRow for [u8; 32] {
    fn read(columns: &mut ColumnReader<'_>) -> Result<Self, ColumnError> {
        let bytes = Vec::read(columns)?;
        let length = bytes.len();
        bytes
            .try_into()
            .map_err(|_| columns.error(format!("has {length} bytes, and a hash has 32")))
    }
}

/// `None` if the first of its columns is null.
impl<T: FromRow> FromRow for Option<T> {
    const COUNT: usize = T::COUNT;

    fn read(columns: &mut ColumnReader<'_>) -> Result<Self, ColumnError> {
        if columns.row.is_null(columns.next) {
            columns.next += T::COUNT;
            return Ok(None);
        }
        T::read(columns).map(Some)
    }
}

impl<A: FromRow, B: FromRow> FromRow for (A, B) {
    const COUNT: usize = A::COUNT + B::COUNT;

    fn read(columns: &mut ColumnReader<'_>) -> Result<Self, ColumnError> {
        Ok((A::read(columns)?, B::read(columns)?))
    }
}

// === impl ToValues ===

macro_rules! to_int {
    ($($type:ty: $value:ident => $int:expr;)*) => {$(
        impl<'a> ToValues<'a> for $type {
            fn add_to(self, values: &mut Vec<SqlValue<'a>>) {
                let $value = self;
                values.push(SqlValue::Int($int));
            }
        }

        impl<'a> ToValues<'a> for &$type {
            fn add_to(self, values: &mut Vec<SqlValue<'a>>) {
                (*self).add_to(values);
            }
        }
    )*};
}

to_int! {
    i64: int => int;
    u32: int => i64::from(int);
    u64: count => to_sql_count(count);
    usize: count => i64::try_from(count).unwrap_or(i64::MAX);
    bool: is_set => i64::from(is_set);
    JobNumber: job => job.get();
}

macro_rules! to_borrowed {
    ($($type:ty: $new:ident;)*) => {$(
        impl<'a> ToValues<'a> for &'a $type {
            fn add_to(self, values: &mut Vec<SqlValue<'a>>) {
                values.push(SqlValue::$new(self));
            }
        }
    )*};
}

to_borrowed! {
    str: text;
    String: text;
    [u8]: blob;
    [u8; 32]: blob;
    Vec<u8>: blob;
}

/// A value of one column; `None` is null.
impl<'a, T: ToValues<'a>> ToValues<'a> for Option<T> {
    fn add_to(self, values: &mut Vec<SqlValue<'a>>) {
        match self {
            Some(value) => value.add_to(values),
            None => values.push(SqlValue::Null),
        }
    }
}

impl<'a, T> ToValues<'a> for &'a Option<T>
where
    &'a T: ToValues<'a>,
{
    fn add_to(self, values: &mut Vec<SqlValue<'a>>) {
        self.as_ref().add_to(values);
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
