//! Conditions on rows, with the answers of their subqueries: [`Test`].
//!
//! As in SQL there are three results: a comparison with a null column is neither true nor false,
//! and neither it nor its negation selects the row. A dotted path that does not exist is not equal
//! to any value, as in PuppetDB.

use std::collections::HashSet;

use regex::Regex;
use serde_json::{Number, Value};

use super::row::{Cell, Row};
use crate::FactValue;
use crate::lang::{Bound, Comparison, Field};

/// A condition that is ready for evaluation.
pub(super) enum Test<'q> {
    All(Vec<Test<'q>>),
    Any(Vec<Test<'q>>),
    Not(Box<Test<'q>>),
    Equal(&'q Field, &'q Value),
    SameTime(&'q Field, i64),
    Matches(&'q Field, &'q Regex),
    Compare(&'q Field, Comparison, Bound),
    Null(&'q Field, bool),
    /// The combination of the fields is one of these keys.
    Among(Vec<&'q Field>, HashSet<Key>),
}

/// Values that are compared as a whole.
pub(super) type Key = Vec<Scalar>;

/// A value that can be hashed and compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Text(Box<str>),
    /// The bits of a number; 1 and 1.0 are the same.
    Number(u64),
    Time(i64),
    /// A list or object, as JSON text.
    Json(Box<str>),
}

impl Test<'_> {
    /// The result for a row; `None` means unknown, as in SQL.
    pub(super) fn of(&self, row: Row<'_>) -> Option<bool> {
        match self {
            Self::All(tests) => all(tests, row),
            Self::Any(tests) => any(tests, row),
            Self::Not(test) => test.of(row).map(|is| !is),
            Self::Equal(field, value) => {
                known(field, row).map(|cell| cell.is_some_and(|cell| equal(cell, value)))
            }
            Self::SameTime(field, at) => known(field, row)
                .map(|cell| matches!(cell, Some(Cell::Time(time)) if time.as_millisecond() == *at)),
            Self::Matches(field, regex) => known(field, row).map(|cell| match cell {
                Some(Cell::Text(text)) => regex.is_match(text),
                Some(Cell::Json(value)) => value.as_str().is_some_and(|text| regex.is_match(text)),
                _ => false,
            }),
            Self::Compare(field, comparison, bound) => known(field, row)
                .map(|cell| cell.is_some_and(|cell| compare(cell, *comparison, *bound))),
            Self::Null(field, is) => Some(row.cell(field).is_null() == *is),
            Self::Among(fields, keys) => {
                let key: Option<Key> = fields
                    .iter()
                    .map(|field| match row.cell(field) {
                        cell if cell.is_null() => None,
                        cell => Some(Scalar::of(cell)),
                    })
                    .collect();
                match key {
                    Some(key) => Some(keys.contains(&key)),
                    None if fields.iter().any(|field| field.is_dotted()) => Some(false),
                    None => None,
                }
            }
        }
    }
}

/// True only if all are true; false as soon as one is false.
fn all(tests: &[Test<'_>], row: Row<'_>) -> Option<bool> {
    let mut answer = Some(true);
    for test in tests {
        match test.of(row) {
            Some(false) => return Some(false),
            Some(true) => {}
            None => answer = None,
        }
    }
    answer
}

fn any(tests: &[Test<'_>], row: Row<'_>) -> Option<bool> {
    let mut answer = Some(false);
    for test in tests {
        match test.of(row) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => answer = None,
        }
    }
    answer
}

/// `None` for a null column; `Some(None)` for a path that does not exist.
#[expect(
    clippy::option_option,
    reason = "unknown and absent are different answers"
)]
fn known<'s>(field: &Field, row: Row<'s>) -> Option<Option<Cell<'s>>> {
    match row.cell(field) {
        Cell::Null => None,
        Cell::Absent => Some(None),
        cell => Some(Some(cell)),
    }
}

fn equal(cell: Cell<'_>, value: &Value) -> bool {
    match (cell, value) {
        (Cell::Bool(a), Value::Bool(b)) => a == *b,
        (Cell::Text(a), Value::String(b)) => a == b,
        (Cell::Json(a), b) => same(a, b),
        _ => false,
    }
}

fn same(a: &FactValue, b: &Value) -> bool {
    match (a.as_number(), b) {
        (Some(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => a.is(b),
    }
}

fn compare(cell: Cell<'_>, comparison: Comparison, bound: Bound) -> bool {
    let ordering = match (cell, bound) {
        (Cell::Time(time), Bound::Time(at)) => Some(time.as_millisecond().cmp(&at)),
        (Cell::Json(value), Bound::Number(with)) => {
            let number = value.as_number().and_then(Number::as_f64);
            number.and_then(|number| number.partial_cmp(&with))
        }
        _ => None,
    };
    ordering.is_some_and(|ordering| match comparison {
        Comparison::Less => ordering.is_lt(),
        Comparison::LessOrEqual => ordering.is_le(),
        Comparison::Greater => ordering.is_gt(),
        Comparison::GreaterOrEqual => ordering.is_ge(),
    })
}

// === impl Scalar ===

impl Scalar {
    pub(super) fn of(cell: Cell<'_>) -> Self {
        match cell {
            Cell::Null | Cell::Absent => Self::Null,
            Cell::Bool(bool) => Self::Bool(bool),
            Cell::Text(text) => Self::Text(text.into()),
            Cell::Time(time) => Self::Time(time.as_millisecond()),
            Cell::Json(value) => match value.as_str() {
                Some(text) => Self::Text(text.into()),
                None => Self::of_json(&value.to_json()),
            },
        }
    }

    pub(super) fn of_json(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(bool) => Self::Bool(*bool),
            Value::String(text) => Self::Text(text.as_str().into()),
            // The sign of zero is ignored.
            Value::Number(number) => {
                Self::Number((number.as_f64().unwrap_or(f64::NAN) + 0.0).to_bits())
            }
            other => Self::Json(other.to_string().into()),
        }
    }
}
