//! Values on the right of operators: [`parse_comparison`] makes a condition of field, operator and
//! value, for both PQL and AST.

use regex::RegexBuilder;
use serde_json::Value;

use super::budget::QueryBudget;
use super::entity::ColumnType;
use super::field::QueryField;
use super::{ComparisonBound, ComparisonOperator, QueryCondition};
use crate::defaults::MAX_REGEX_BYTES;

/// The condition `field operator value`, or an error message.
pub(super) fn parse_comparison(
    field: QueryField,
    operator: &str,
    value: Value,
    budget: &QueryBudget,
) -> Result<QueryCondition, String> {
    check_operator(operator)?;
    let comparison = match operator {
        "=" => return parse_equal(field, value),
        "~" => return parse_match(field, &value, budget),
        "<" => ComparisonOperator::Less,
        "<=" => ComparisonOperator::LessOrEqual,
        ">" => ComparisonOperator::Greater,
        _ => ComparisonOperator::GreaterOrEqual,
    };
    let bound = match (field.kind, &value) {
        (ColumnType::Time, Value::String(text)) => ComparisonBound::Time(parse_time(text)?),
        (ColumnType::Json, Value::Number(number)) => {
            ComparisonBound::Number(number.as_f64().unwrap_or(f64::NAN))
        }
        (ColumnType::Time, _) => {
            return Err(format!("`{}` is compared with a timestamp", field.name));
        }
        (ColumnType::Json, _) => return Err(format!("`{operator}` compares a fact with a number")),
        _ => return Err(format!("`{}` has no order; use = or ~", field.name)),
    };
    Ok(QueryCondition::Compare(field, comparison, bound))
}

/// Checks an operator between a field and a value.
pub(super) fn check_operator(operator: &str) -> Result<(), String> {
    match operator {
        "=" | "~" | "<" | "<=" | ">" | ">=" => Ok(()),
        other => Err(format!(
            "`{}` is not supported here; there are = ~ < <= > >= in, and, or, not (!), is null",
            super::entity::clip_name(other)
        )),
    }
}

fn parse_equal(field: QueryField, value: Value) -> Result<QueryCondition, String> {
    match (field.kind, &value) {
        (ColumnType::Time, Value::String(text)) => {
            let at = parse_time(text)?;
            Ok(QueryCondition::SameTime(field, at))
        }
        (ColumnType::Text, Value::String(_)) | (ColumnType::Bool, Value::Bool(_)) => {
            Ok(QueryCondition::Equal(field, value))
        }
        (ColumnType::Json, Value::Null) => {
            Err("a value is never = null; write `is null`".to_owned())
        }
        (ColumnType::Json, _) => Ok(QueryCondition::Equal(field, value)),
        (kind, _) => Err(format!("`{}` is {}", field.name, kind_name(kind))),
    }
}

fn parse_match(
    field: QueryField,
    value: &Value,
    budget: &QueryBudget,
) -> Result<QueryCondition, String> {
    budget.count_regex()?;
    let Value::String(pattern) = value else {
        return Err("a regular expression is a string".to_owned());
    };
    if !matches!(field.kind, ColumnType::Text | ColumnType::Json) {
        return Err(format!("`{}` is {}", field.name, kind_name(field.kind)));
    }
    let built = RegexBuilder::new(pattern)
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(MAX_REGEX_BYTES)
        .build();
    match built {
        Ok(regex) => Ok(QueryCondition::Matches(field, regex)),
        Err(regex::Error::CompiledTooBig(_)) => {
            Err("the regular expression is too large".to_owned())
        }
        Err(error) => {
            let told = error.to_string();
            let last = told.lines().last().unwrap_or_default().trim().to_owned();
            Err(format!("not a regular expression: {last}"))
        }
    }
}

/// `field in [values]`.
pub(super) fn parse_one_of(
    field: QueryField,
    values: Vec<Value>,
) -> Result<QueryCondition, String> {
    if field.kind == ColumnType::Time {
        let tests = values
            .into_iter()
            .map(|value| parse_equal(field.clone(), value));
        return Ok(QueryCondition::Any(tests.collect::<Result<_, _>>()?));
    }
    for value in &values {
        let fits = match field.kind {
            ColumnType::Text => value.is_string(),
            ColumnType::Bool => value.is_boolean(),
            ColumnType::Json | ColumnType::Time => {
                !value.is_array() && !value.is_object() && !value.is_null()
            }
        };
        if !fits {
            let what = kind_name(field.kind);
            return Err(format!(
                "a value of the list does not fit: `{}` is {what}",
                field.name
            ));
        }
    }
    Ok(QueryCondition::OneOf(field, values))
}

fn kind_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Text => "a string",
        ColumnType::Bool => "true or false",
        ColumnType::Time => "a timestamp, such as \"2026-11-21T06:00:00Z\"",
        ColumnType::Json => "a string, number or boolean",
    }
}

/// Parses a point in time, or a date, which means its beginning in UTC.
fn parse_time(text: &str) -> Result<i64, String> {
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Ok(at.as_millisecond());
    }
    let civil = text.parse::<jiff::civil::DateTime>();
    civil
        .ok()
        .and_then(|civil| civil.to_zoned(jiff::tz::TimeZone::UTC).ok())
        .map(|zoned| zoned.timestamp().as_millisecond())
        .ok_or_else(|| "not a timestamp; write \"2026-11-21T06:00:00Z\" or \"2026-11-21\"".into())
}
