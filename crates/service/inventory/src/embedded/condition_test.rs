//! Conditions on rows, with the answers of their subqueries: [`ConditionTest`].
//!
//! As in SQL there are three results: a comparison with a null column is neither true nor false,
//! and neither it nor its negation selects the row. A dotted path that does not exist is not equal
//! to any value, as in PuppetDB.

use std::collections::HashSet;

use regex::Regex;
use serde_json::{Number, Value};

use super::row::{EntityRow, FieldValue};
use crate::FactValue;
use crate::lang::{ComparisonBound, ComparisonOperator, QueryField};

/// A condition that is ready for evaluation.
pub(super) enum ConditionTest<'q> {
    All(Vec<ConditionTest<'q>>),
    Any(Vec<ConditionTest<'q>>),
    Not(Box<ConditionTest<'q>>),
    Equal(&'q QueryField, &'q Value),
    SameTime(&'q QueryField, i64),
    Matches(&'q QueryField, &'q Regex),
    Compare(&'q QueryField, ComparisonOperator, ComparisonBound),
    Null(&'q QueryField, bool),
    /// The combination of the fields is one of these keys.
    Among(Vec<&'q QueryField>, HashSet<ScalarKey>),
}

/// Values that are compared as a whole.
pub(super) type ScalarKey = Vec<ScalarValue>;

/// A value that can be hashed and compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ScalarValue {
    Null,
    Bool(bool),
    Text(Box<str>),
    /// The bits of a number; 1 and 1.0 are the same.
    Number(u64),
    Time(i64),
    /// A list or object, as JSON text.
    Json(Box<str>),
}

impl ConditionTest<'_> {
    /// The result for a row; `None` means unknown, as in SQL.
    pub(super) fn evaluate(&self, row: EntityRow<'_>) -> Option<bool> {
        match self {
            Self::All(tests) => all_true(tests, row),
            Self::Any(tests) => any_true(tests, row),
            Self::Not(test) => test.evaluate(row).map(|is| !is),
            Self::Equal(field, value) => {
                known_value(field, row).map(|cell| cell.is_some_and(|cell| is_equal(cell, value)))
            }
            Self::SameTime(field, at) => known_value(field, row).map(
                |cell| matches!(cell, Some(FieldValue::Time(time)) if time.as_millisecond() == *at),
            ),
            Self::Matches(field, regex) => known_value(field, row).map(|cell| match cell {
                Some(FieldValue::Text(text)) => regex.is_match(text),
                Some(FieldValue::Json(value)) => {
                    value.as_str().is_some_and(|text| regex.is_match(text))
                }
                _ => false,
            }),
            Self::Compare(field, comparison, bound) => known_value(field, row)
                .map(|cell| cell.is_some_and(|cell| is_in_range(cell, *comparison, *bound))),
            Self::Null(field, is) => Some(row.cell(field).is_null() == *is),
            Self::Among(fields, keys) => {
                let key: Option<ScalarKey> = fields
                    .iter()
                    .map(|field| match row.cell(field) {
                        cell if cell.is_null() => None,
                        cell => Some(ScalarValue::from_value(cell)),
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
fn all_true(tests: &[ConditionTest<'_>], row: EntityRow<'_>) -> Option<bool> {
    let mut answer = Some(true);
    for test in tests {
        match test.evaluate(row) {
            Some(false) => return Some(false),
            Some(true) => {}
            None => answer = None,
        }
    }
    answer
}

fn any_true(tests: &[ConditionTest<'_>], row: EntityRow<'_>) -> Option<bool> {
    let mut answer = Some(false);
    for test in tests {
        match test.evaluate(row) {
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
fn known_value<'s>(field: &QueryField, row: EntityRow<'s>) -> Option<Option<FieldValue<'s>>> {
    match row.cell(field) {
        FieldValue::Null => None,
        FieldValue::Absent => Some(None),
        cell => Some(Some(cell)),
    }
}

fn is_equal(cell: FieldValue<'_>, value: &Value) -> bool {
    match (cell, value) {
        (FieldValue::Bool(a), Value::Bool(b)) => a == *b,
        (FieldValue::Text(a), Value::String(b)) => a == b,
        (FieldValue::Json(a), b) => is_same(a, b),
        _ => false,
    }
}

fn is_same(a: &FactValue, b: &Value) -> bool {
    match (a.as_number(), b) {
        (Some(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => a.equals_json(b),
    }
}

fn is_in_range(
    cell: FieldValue<'_>,
    comparison: ComparisonOperator,
    bound: ComparisonBound,
) -> bool {
    let ordering = match (cell, bound) {
        (FieldValue::Time(time), ComparisonBound::Time(at)) => Some(time.as_millisecond().cmp(&at)),
        (FieldValue::Json(value), ComparisonBound::Number(with)) => {
            let number = value.as_number().and_then(Number::as_f64);
            number.and_then(|number| number.partial_cmp(&with))
        }
        _ => None,
    };
    ordering.is_some_and(|ordering| match comparison {
        ComparisonOperator::Less => ordering.is_lt(),
        ComparisonOperator::LessOrEqual => ordering.is_le(),
        ComparisonOperator::Greater => ordering.is_gt(),
        ComparisonOperator::GreaterOrEqual => ordering.is_ge(),
    })
}

// === impl ScalarValue ===

impl ScalarValue {
    pub(super) fn from_value(cell: FieldValue<'_>) -> Self {
        match cell {
            FieldValue::Null | FieldValue::Absent => Self::Null,
            FieldValue::Bool(bool) => Self::Bool(bool),
            FieldValue::Text(text) => Self::Text(text.into()),
            FieldValue::Time(time) => Self::Time(time.as_millisecond()),
            FieldValue::Json(value) => match value.as_str() {
                Some(text) => Self::Text(text.into()),
                None => Self::from_json(&value.to_json()),
            },
        }
    }

    pub(super) fn from_json(value: &Value) -> Self {
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
