//! Values on the right of operators: [`test`] makes a condition of field, operator and value, for
//! both PQL and AST.

use regex::RegexBuilder;
use serde_json::Value;

use super::budget::Budget;
use super::entity::Kind;
use super::field::Field;
use super::{Bound, Comparison, Condition};
use crate::defaults::MAX_REGEX_BYTES;

/// The condition `field operator value`, or an error message.
pub(super) fn test(
    field: Field,
    operator: &str,
    value: Value,
    budget: &Budget,
) -> Result<Condition, String> {
    check_operator(operator)?;
    let comparison = match operator {
        "=" => return equal(field, value),
        "~" => return matches(field, &value, budget),
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        _ => Comparison::GreaterOrEqual,
    };
    let bound = match (field.kind, &value) {
        (Kind::Time, Value::String(text)) => Bound::Time(time(text)?),
        (Kind::Json, Value::Number(number)) => Bound::Number(number.as_f64().unwrap_or(f64::NAN)),
        (Kind::Time, _) => return Err(format!("`{}` is compared with a timestamp", field.name)),
        (Kind::Json, _) => return Err(format!("`{operator}` compares a fact with a number")),
        _ => return Err(format!("`{}` has no order; use = or ~", field.name)),
    };
    Ok(Condition::Compare(field, comparison, bound))
}

/// Checks an operator between a field and a value.
pub(super) fn check_operator(operator: &str) -> Result<(), String> {
    match operator {
        "=" | "~" | "<" | "<=" | ">" | ">=" => Ok(()),
        other => Err(format!(
            "`{}` is not supported here; there are = ~ < <= > >= in, and, or, not (!), is null",
            super::entity::clipped(other)
        )),
    }
}

fn equal(field: Field, value: Value) -> Result<Condition, String> {
    match (field.kind, &value) {
        (Kind::Time, Value::String(text)) => {
            let at = time(text)?;
            Ok(Condition::SameTime(field, at))
        }
        (Kind::Text, Value::String(_)) | (Kind::Bool, Value::Bool(_)) => {
            Ok(Condition::Equal(field, value))
        }
        (Kind::Json, Value::Null) => Err("a value is never = null; write `is null`".to_owned()),
        (Kind::Json, _) => Ok(Condition::Equal(field, value)),
        (kind, _) => Err(format!("`{}` is {}", field.name, kind_name(kind))),
    }
}

fn matches(field: Field, value: &Value, budget: &Budget) -> Result<Condition, String> {
    budget.regex()?;
    let Value::String(pattern) = value else {
        return Err("a regular expression is a string".to_owned());
    };
    if !matches!(field.kind, Kind::Text | Kind::Json) {
        return Err(format!("`{}` is {}", field.name, kind_name(field.kind)));
    }
    let built = RegexBuilder::new(pattern)
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(MAX_REGEX_BYTES)
        .build();
    match built {
        Ok(regex) => Ok(Condition::Matches(field, regex)),
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
pub(super) fn one_of(field: Field, values: Vec<Value>) -> Result<Condition, String> {
    if field.kind == Kind::Time {
        let tests = values.into_iter().map(|value| equal(field.clone(), value));
        return Ok(Condition::Any(tests.collect::<Result<_, _>>()?));
    }
    for value in &values {
        let fits = match field.kind {
            Kind::Text => value.is_string(),
            Kind::Bool => value.is_boolean(),
            Kind::Json | Kind::Time => !value.is_array() && !value.is_object() && !value.is_null(),
        };
        if !fits {
            let what = kind_name(field.kind);
            return Err(format!(
                "a value of the list does not fit: `{}` is {what}",
                field.name
            ));
        }
    }
    Ok(Condition::OneOf(field, values))
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "a string",
        Kind::Bool => "true or false",
        Kind::Time => "a timestamp, such as \"2026-11-21T06:00:00Z\"",
        Kind::Json => "a string, number or boolean",
    }
}

/// Parses a point in time, or a date, which means its beginning in UTC.
fn time(text: &str) -> Result<i64, String> {
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
