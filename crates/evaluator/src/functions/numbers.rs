//! `abs`, `ceiling`, `floor`, `round`, `max`, `min`.

use std::cmp::Ordering;

use pcore::Value;

use crate::Evaluator;
use crate::error::{Eval, raise};
use crate::function::{Call, Form, Function, any, one};
use crate::ruby;

const TWO: &str = "Callable[2,2]";

macro_rules! extreme {
    ($numbers:ident, $texts:ident, $others:ident) => {
        &[
            Form::new(&[any("Numeric", "values")], $numbers),
            Form::new(&[any("String", "values")], $texts),
            Form::new(&[one("Array[Numeric]", "values")], $numbers).with_optional_block(TWO),
            Form::new(&[one("Array[String]", "values")], $texts).with_optional_block(TWO),
            Form::new(&[one("Array", "values")], $others).with_optional_block(TWO),
            Form::new(&[any("Any", "values")], $others).with_block(TWO),
            Form::new(&[any("Any", "values")], $others),
        ]
    };
}

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "abs",
        &[
            Form::new(&[one("Numeric", "val")], abs),
            Form::new(&[one("String", "val")], abs_text),
        ],
    ),
    Function::new(
        "ceiling",
        &[
            Form::new(&[one("Numeric", "val")], ceiling),
            Form::new(&[one("String", "val")], ceiling_text),
        ],
    ),
    Function::new(
        "floor",
        &[
            Form::new(&[one("Numeric", "val")], floor),
            Form::new(&[one("String", "val")], floor_text),
        ],
    ),
    Function::new("round", &[Form::new(&[one("Numeric", "val")], round)]),
    Function::new("max", extreme!(max_numbers, max_texts, max_others)),
    Function::new("min", extreme!(min_numbers, min_texts, min_others)),
];

fn abs(_: &mut Evaluator<'_>, mut call: Call<'_>) -> Eval {
    match call.take(0) {
        Value::Int(number) => match number.checked_abs() {
            Some(number) => Ok(Value::Int(number)),
            None => raise("abs(): the result is outside of the Puppet Integer max range"),
        },
        Value::Float(number) => Ok(Value::Float(number.abs())),
        other => Ok(other),
    }
}

fn abs_text(_: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    let text = call.text(0);
    let digits = text.strip_prefix('-').unwrap_or(&text);
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    if all_digits(digits)
        && let Ok(number) = digits.parse::<i64>()
    {
        return Ok(Value::Int(number));
    }
    if let Some((whole, fraction)) = digits.split_once('.')
        && all_digits(whole)
        && all_digits(fraction)
        && let Ok(number) = digits.parse::<f64>()
    {
        return Ok(Value::Float(number));
    }
    raise("abs(): Requires float or integer to work with - was given non decimal string")
}

/// A float that has no fraction as an integer.
fn whole(number: f64) -> Eval {
    if number.is_nan() || number.is_infinite() {
        return raise(ruby::to_s(&Value::Float(number)));
    }
    if number.abs() >= 9_223_372_036_854_775_808.0 {
        return raise("the result is outside of the range of Puppet's integers");
    }
    Ok(Value::Int(number as i64))
}

fn ceiling(_: &mut Evaluator<'_>, mut call: Call<'_>) -> Eval {
    match call.take(0) {
        Value::Float(number) => whole(number.ceil()),
        other => Ok(other),
    }
}

fn floor(_: &mut Evaluator<'_>, mut call: Call<'_>) -> Eval {
    match call.take(0) {
        Value::Float(number) => whole(number.floor()),
        other => Ok(other),
    }
}

fn ceiling_text(_: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    match call.text(0).trim().parse::<f64>() {
        Ok(number) => whole(number.ceil()),
        Err(_) => raise("ceiling(): cannot convert given value to a floating point value."),
    }
}

fn floor_text(_: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    match call.text(0).trim().parse::<f64>() {
        Ok(number) => whole(number.floor()),
        Err(_) => raise("floor(): cannot convert given value to a floating point value."),
    }
}

fn round(_: &mut Evaluator<'_>, mut call: Call<'_>) -> Eval {
    match call.take(0) {
        Value::Float(number) if number > 0.0 => whole((number + 0.5).trunc()),
        Value::Float(number) => whole((number - 0.5).trunc()),
        other => Ok(other),
    }
}

/// The values, be they one list.
fn values(call: &Call<'_>) -> Vec<Value> {
    match call.arguments.as_slice() {
        [Value::Array(elements)] => elements.to_vec(),
        several => several.to_vec(),
    }
}

fn extreme(
    evaluator: &mut Evaluator<'_>,
    call: &Call<'_>,
    wanted: Ordering,
    order: fn(&Value, &Value) -> Ordering,
) -> Eval {
    let values = values(call);
    let mut values = values.into_iter();
    let Some(mut best) = values.next() else {
        if call.block.is_some() {
            return Ok(Value::Undef);
        }
        return raise(format!(
            "{}(): Wrong number of arguments need at least one",
            call.name
        ));
    };
    for value in values {
        let ordering = match call.block {
            Some(block) => {
                let answer = evaluator.call_block(block, [value.clone(), best.clone()])?;
                super::sort::ordering(&answer, &value, &best)?
            }
            None => order(&value, &best),
        };
        if ordering == wanted {
            best = value;
        }
    }
    Ok(best)
}

fn by_number(a: &Value, b: &Value) -> Ordering {
    crate::evaluator::compare_values(a, b).unwrap_or(Ordering::Equal)
}

/// Texts that are numbers compare as numbers.
fn by_text(a: &Value, b: &Value) -> Ordering {
    let (a, b) = (ruby::to_s(a), ruby::to_s(b));
    match (number_of(&a), number_of(&b)) {
        (Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
        _ => a.cmp(&b),
    }
}

/// `-1`, `1.5`, `1_0`, `1e5`: what Puppet takes for a number here, as Ruby's `to_f` reads it.
fn number_of(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let split = digits.find(['.', '_', 'e', 'E']);
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let fits = match split {
        None => all_digits(digits),
        Some(at) => all_digits(&digits[..at]) && all_digits(&digits[at + 1..]),
    };
    if fits {
        text.replace('_', "").parse().ok()
    } else {
        None
    }
}

fn max_numbers(evaluator: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    extreme(evaluator, &call, Ordering::Greater, by_number)
}

fn max_texts(evaluator: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    extreme(evaluator, &call, Ordering::Greater, by_text)
}

fn max_others(evaluator: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    extreme(evaluator, &call, Ordering::Greater, by_text)
}

fn min_numbers(evaluator: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    extreme(evaluator, &call, Ordering::Less, by_number)
}

fn min_texts(evaluator: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    extreme(evaluator, &call, Ordering::Less, by_text)
}

fn min_others(evaluator: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    extreme(evaluator, &call, Ordering::Less, by_text)
}
