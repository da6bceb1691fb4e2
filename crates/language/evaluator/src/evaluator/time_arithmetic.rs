//! Arithmetic with points in time and durations; numbers are seconds.

use pcore::{PuppetTimestamp, Timespan, Value};
use syntax::ast::BinaryOp;

use super::arithmetic::{ArithmeticError, floor_division, integers};
use crate::label;

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// Evaluates an operation with a time on at least one side.
pub(super) fn times(
    operator: BinaryOp,
    left: &Value,
    right: &Value,
) -> Result<Value, ArithmeticError> {
    let is_time = |value: &Value| matches!(value, Value::Timespan(_) | Value::Timestamp(_));
    if is_time(left) {
        return time_first(operator, left, right);
    }
    if matches!((operator, left), (BinaryOp::Mod, Value::Float(_)))
        || !is_time(right)
        || matches!(left, Value::SemVer(_))
    {
        return Err(ArithmeticError::Left);
    }
    match (operator, right) {
        (BinaryOp::Add, _) | (BinaryOp::Mul, Value::Timespan(_)) => {
            time_first(operator, right, left)
        }
        (BinaryOp::Sub, Value::Timespan(_)) => match seconds(left).and_then(span) {
            Some(span) => time_first(operator, &span, right),
            None => Err(ArithmeticError::Both),
        },
        _ => Err(ArithmeticError::Both),
    }
}

fn time_first(operator: BinaryOp, left: &Value, right: &Value) -> Result<Value, ArithmeticError> {
    match left {
        Value::Timestamp(time) => timestamp(operator, *time, right),
        Value::Timespan(length) => timespan(operator, *length, right),
        _ => Err(ArithmeticError::Left),
    }
}

fn timestamp(
    operator: BinaryOp,
    time: PuppetTimestamp,
    right: &Value,
) -> Result<Value, ArithmeticError> {
    let nanos = time.nanos();
    let result = match (operator, right) {
        (BinaryOp::Sub, Value::Timestamp(other)) => span(nanos - other.nanos()),
        (BinaryOp::Add, Value::Timespan(length)) => instant(nanos + length.nanos()),
        (BinaryOp::Sub, Value::Timespan(length)) => instant(nanos - length.nanos()),
        (BinaryOp::Add, other) => match seconds(other) {
            Some(more) => instant(nanos + more),
            None => return refused(right, "cannot be added to a Timestamp"),
        },
        (BinaryOp::Sub, other) => match seconds(other) {
            Some(less) => instant(nanos - less),
            None => return refused(right, "cannot be subtracted from a Timestamp"),
        },
        _ => return Err(ArithmeticError::Left),
    };
    result.ok_or_else(too_far)
}

fn timespan(operator: BinaryOp, length: Timespan, right: &Value) -> Result<Value, ArithmeticError> {
    let nanos = length.nanos();
    let result = match (operator, right) {
        (BinaryOp::Add, Value::Timestamp(time)) => instant(nanos + time.nanos()),
        (BinaryOp::Add, Value::Timespan(other)) => span(nanos + other.nanos()),
        (BinaryOp::Sub, Value::Timespan(other)) => span(nanos - other.nanos()),
        (BinaryOp::Div, Value::Timespan(other)) => {
            return Ok(Value::Float(nanos as f64 / other.nanos() as f64));
        }
        (BinaryOp::Add, other) => match seconds(other) {
            Some(more) => span(nanos + more),
            None => return refused(right, "cannot be added to a Timespan"),
        },
        (BinaryOp::Sub, other) => match seconds(other) {
            Some(less) => span(nanos - less),
            None => return refused(right, "cannot be subtracted from a Timespan"),
        },
        (BinaryOp::Mul, Value::Int(factor)) => span(nanos.saturating_mul(i128::from(*factor))),
        (BinaryOp::Mul, Value::Float(factor)) => span((nanos as f64 * factor) as i128),
        (BinaryOp::Mul, other) => {
            let what = label::with_article(&label::value_label(other));
            let text = format!("A Timestamp cannot be multiplied by {what}");
            return Err(ArithmeticError::Text(text));
        }
        (BinaryOp::Div, Value::Int(0)) => return Err(ArithmeticError::DivisionByZero),
        (BinaryOp::Div, Value::Int(divisor)) => span(floor_division(nanos, i128::from(*divisor))),
        (BinaryOp::Div, Value::Float(0.0)) => return Err(ArithmeticError::DivisionByZero),
        (BinaryOp::Div, Value::Float(divisor)) => span((nanos as f64 / divisor).floor() as i128),
        (BinaryOp::Div, other) => {
            let what = label::with_article(&label::value_label(other));
            let text = format!("A Timespan cannot be divided by {what}");
            return Err(ArithmeticError::Text(text));
        }
        (BinaryOp::Mod, Value::Float(_)) => return Err(ArithmeticError::Both),
        (BinaryOp::Mod, Value::Int(divisor)) => {
            let whole = i64::try_from(floor_division(nanos, NANOS_PER_SECOND));
            return integers(operator, whole.unwrap_or(i64::MAX), *divisor);
        }
        (BinaryOp::Mod, other) => {
            let what = label::with_article(&label::value_label(other));
            let text = format!("Can not do modulus on a Timespan using a {what}");
            return Err(ArithmeticError::Text(text));
        }
        _ => return Err(ArithmeticError::Left),
    };
    result.ok_or_else(too_far)
}

fn refused(right: &Value, what: &str) -> Result<Value, ArithmeticError> {
    let subject = label::with_capital_article(&label::value_label(right));
    Err(ArithmeticError::Text(format!("{subject} {what}")))
}

fn too_far() -> ArithmeticError {
    ArithmeticError::Text("the time is too far away".to_owned())
}

fn span(nanos: i128) -> Option<Value> {
    Timespan::from_nanos(nanos).map(Value::Timespan)
}

fn instant(nanos: i128) -> Option<Value> {
    PuppetTimestamp::from_nanos(nanos).map(Value::Timestamp)
}

/// A number of seconds in nanoseconds.
fn seconds(value: &Value) -> Option<i128> {
    match value {
        Value::Int(seconds) => Some(i128::from(*seconds) * NANOS_PER_SECOND),
        Value::Float(seconds) => Some((seconds * NANOS_PER_SECOND as f64) as i128),
        _ => None,
    }
}
