//! `validate_integer`, `validate_numeric`, `validate_slength`: numbers and lengths within bounds.

use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::{Value, ruby_float};

use crate::old_api::{OldCall, class_name};
use crate::ruby::numbers::{float, integer};

/// The differences between the functions for integers and for any numbers.
struct NumberValidation {
    name: &'static str,
    /// The noun of the message with its article.
    a_number: &'static str,
    read: fn(&str) -> Option<f64>,
    shown: fn(f64) -> String,
}

const INTEGER: NumberValidation = NumberValidation {
    name: "validate_integer",
    a_number: "an Integer",
    #[expect(
        clippy::cast_precision_loss,
        reason = "bounds near 2^63 are not asked for"
    )]
    read: |text| integer(text).map(|number| number as f64),
    shown: |number| format!("{number:.0}"),
};

const NUMERIC: NumberValidation = NumberValidation {
    name: "validate_numeric",
    a_number: "a Numeric",
    read: float,
    shown: ruby_float,
};

pub(super) fn validate_integer(_: &Evaluator<'_>, old: &OldCall) -> EvalResult<()> {
    numbers(old, &INTEGER)
}

pub(super) fn validate_numeric(_: &Evaluator<'_>, old: &OldCall) -> EvalResult<()> {
    numbers(old, &NUMERIC)
}

struct NumberBounds {
    max: Option<f64>,
    min: Option<f64>,
}

fn bounds(old: &OldCall, kind: &NumberValidation) -> EvalResult<NumberBounds> {
    let bound = |index: usize, which: &str, may_be_empty: bool| -> EvalResult<Option<f64>> {
        if old.len() <= index {
            return Ok(None);
        }
        let text = ruby::to_s(old.get(index));
        if may_be_empty && text.is_empty() {
            return Ok(None);
        }
        match (kind.read)(&text) {
            Some(number) => Ok(Some(number)),
            None => raise(format!(
                "{}(): Expected {which} argument to be unset or {}, got {text}:{}",
                kind.name,
                kind.a_number,
                if index == 1 {
                    "String".to_owned()
                } else {
                    class_name(old.get(index))
                }
            )),
        }
    };
    let max = bound(1, "second", old.len() > 2)?;
    let min = bound(2, "third", false)?;
    if let (Some(max), Some(min)) = (max, min)
        && min > max
    {
        return raise(format!(
            "{}(): Expected second argument to be larger than third argument, got {} < {}",
            kind.name,
            (kind.shown)(max),
            (kind.shown)(min)
        ));
    }
    Ok(NumberBounds { max, min })
}

fn numbers(old: &OldCall, kind: &NumberValidation) -> EvalResult<()> {
    if !(1..=3).contains(&old.len()) {
        return raise(format!(
            "{}(): Wrong number of arguments; must be 1, 2 or 3, got {}",
            kind.name,
            old.len()
        ));
    }
    let bounds = bounds(old, kind)?;
    match old.get(0) {
        Value::Array(list) => {
            let shown = ruby::inspect(old.get(0));
            for (place, value) in list.iter().enumerate() {
                let read = match value {
                    Value::Hash(_) => None,
                    other => (kind.read)(&ruby::to_s(other)),
                };
                match read {
                    Some(number) => within(number, &bounds, kind, &shown)?,
                    None => {
                        return raise(format!(
                            "{}(): Expected element at array position {place} to be {}, got {}",
                            kind.name,
                            kind.a_number,
                            class_name(value)
                        ));
                    }
                }
            }
            Ok(())
        }
        one => {
            let read = match one {
                Value::Hash(_) => None,
                other => (kind.read)(&ruby::to_s(other)),
            };
            match read {
                Some(number) => within(number, &bounds, kind, &(kind.shown)(number)),
                None => {
                    // stdlib names the other function here
                    let is_hash = matches!(one, Value::Hash(_));
                    let name = if is_hash { INTEGER.name } else { kind.name };
                    raise(format!(
                        "{name}(): Expected first argument to be {} or Array, got {}",
                        kind.a_number,
                        class_name(one)
                    ))
                }
            }
        }
    }
}

fn within(
    number: f64,
    bounds: &NumberBounds,
    kind: &NumberValidation,
    shown: &str,
) -> EvalResult<()> {
    let refused = |than: &str, bound: f64| {
        raise(format!(
            "{}(): Expected {shown} to be {than} or equal to {}, got {shown}.",
            kind.name,
            (kind.shown)(bound)
        ))
    };
    match (bounds.max, bounds.min) {
        (Some(max), _) if number > max => refused("smaller", max),
        (_, Some(min)) if number < min => refused("greater", min),
        _ => Ok(()),
    }
}

/// Ruby's `Integer()` conversion of any value.
fn as_integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        #[expect(clippy::cast_possible_truncation, reason = "Ruby cuts it off too")]
        Value::Float(number) => Some(*number as i64),
        Value::Str(text) => integer(text),
        _ => None,
    }
}

pub(super) fn validate_slength(_: &Evaluator<'_>, old: &OldCall) -> EvalResult<()> {
    if !matches!(old.len(), 2 | 3) {
        return raise(format!(
            "validate_slength(): Wrong number of arguments ({}; must be 2 or 3)",
            old.len()
        ));
    }
    let shown = |value: &Value| format!("{}:{}", ruby::to_s(value), class_name(value));
    let Some(max) = as_integer(old.get(1)).filter(|max| *max > 0) else {
        return raise(format!(
            "validate_slength(): Expected second argument to be a positive Numeric, got {}",
            shown(&integer_or_value(old.get(1)))
        ));
    };
    let min = match old.get(2) {
        Value::Undef | Value::Bool(false) => 0,
        value => match as_integer(value).filter(|min| *min >= 0) {
            Some(min) => min,
            None => {
                return raise(format!(
                    "validate_slength(): Expected third argument to be unset or a positive Numeric, got {}",
                    shown(&integer_or_value(value))
                ));
            }
        },
    };
    if max < min {
        return raise(
            "validate_slength(): Expected second argument to be equal to or larger than third argument",
        );
    }
    lengths(old.get(0), min, max)
}

/// The value for the message: the integer, if it can be parsed.
fn integer_or_value(value: &Value) -> Value {
    as_integer(value).map_or_else(|| value.clone(), Value::Int)
}

fn lengths(value: &Value, min: i64, max: i64) -> EvalResult<()> {
    let size = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
    let check = |text: &str, whole: &Value| {
        if (min..=max).contains(&size(text.chars().count())) {
            return Ok(());
        }
        let length = match whole {
            Value::Array(list) => list.len(),
            other => other.as_str().map_or(0, |text| text.chars().count()),
        };
        raise(format!(
            "validate_slength(): Expected length of {} to be between {min} and {max}, was {length}",
            ruby::inspect(whole)
        ))
    };
    match value {
        Value::Str(text) => check(text, value),
        Value::Array(list) => {
            for (place, it) in list.iter().enumerate() {
                match it {
                    Value::Str(text) => check(text, value)?,
                    other => {
                        return raise(format!(
                            "validate_slength(): Expected element at array position {place} to be a String, got {}",
                            class_name(other)
                        ));
                    }
                }
            }
            Ok(())
        }
        other => raise(format!(
            "validate_slength(): Expected first argument to be a String or Array, got {}",
            class_name(other)
        )),
    }
}
