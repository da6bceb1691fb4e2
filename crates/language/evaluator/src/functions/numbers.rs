//! `abs`, `ceiling`, `floor`, `round`, `max`, `min`.

use std::cmp::Ordering;

use pcore::Value;

use crate::Evaluator;
use crate::error::{EvalResult, raise};
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, any, one};
use crate::ruby;
use crate::ruby_numbers::float;

const TWO: &str = "Callable[2,2]";

macro_rules! extreme {
    ($values:ident, $texts:ident, $others:ident) => {
        &[
            FunctionDispatch::new(&[any("Numeric", "values")], $values),
            FunctionDispatch::new(&[any("String", "values")], $texts),
            FunctionDispatch::new(&[any("SemVer", "values")], $values),
            FunctionDispatch::new(&[any("Timespan", "values")], $values),
            FunctionDispatch::new(&[any("Timestamp", "values")], $values),
            FunctionDispatch::new(&[one("Array[Numeric]", "values")], $values)
                .with_optional_block(TWO),
            FunctionDispatch::new(&[one("Array[String]", "values")], $texts)
                .with_optional_block(TWO),
            FunctionDispatch::new(&[one("Array[SemVer]", "values")], $values)
                .with_optional_block(TWO),
            FunctionDispatch::new(&[one("Array[Timespan]", "values")], $values)
                .with_optional_block(TWO),
            FunctionDispatch::new(&[one("Array[Timestamp]", "values")], $values)
                .with_optional_block(TWO),
            FunctionDispatch::new(&[one("Array", "values")], $others).with_optional_block(TWO),
            FunctionDispatch::new(&[any("Any", "values")], $others).with_block(TWO),
            FunctionDispatch::new(&[any("Any", "values")], $others),
        ]
    };
}

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "abs",
        &[
            FunctionDispatch::new(&[one("Numeric", "val")], abs),
            FunctionDispatch::new(&[one("String", "val")], abs_text),
        ],
    ),
    FunctionSpec::new(
        "ceiling",
        &[
            FunctionDispatch::new(&[one("Numeric", "val")], ceiling),
            FunctionDispatch::new(&[one("String", "val")], ceiling_text),
        ],
    ),
    FunctionSpec::new(
        "floor",
        &[
            FunctionDispatch::new(&[one("Numeric", "val")], floor),
            FunctionDispatch::new(&[one("String", "val")], floor_text),
        ],
    ),
    FunctionSpec::new(
        "round",
        &[FunctionDispatch::new(&[one("Numeric", "val")], round)],
    ),
    FunctionSpec::new("max", extreme!(max_values, max_texts, max_others)),
    FunctionSpec::new("min", extreme!(min_values, min_texts, min_others)),
];

fn abs(_: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    match call.take(0) {
        Value::Int(number) => match number.checked_abs() {
            Some(number) => Ok(Value::Int(number)),
            None => raise("abs(): the result is outside of the Puppet Integer max range"),
        },
        Value::Float(number) => Ok(Value::Float(number.abs())),
        other => Ok(other),
    }
}

fn abs_text(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    warn_of_text(evaluator, &call, "Numeric");
    let text = call.text(0);
    // As in Puppet, it is enough that one line is a number; the value is then read from the
    // beginning of the text.
    let is_float = text.split('\n').any(|line| {
        digits_of(line)
            .split_once('.')
            .is_some_and(|(whole, fraction)| all_digits(whole) && all_digits(fraction))
    });
    if is_float {
        return Ok(Value::Float(
            leading_number(&text, true).parse().map_or(0.0, f64::abs),
        ));
    }
    if text.split('\n').any(|line| all_digits(digits_of(line))) {
        let number = leading_number(&text, false);
        return match number.parse::<i64>() {
            Ok(number) => Ok(Value::Int(number.saturating_abs())),
            Err(_) if number.is_empty() => Ok(Value::Int(0)),
            Err(_) => raise("abs(): the result is outside of the Puppet Integer max range"),
        };
    }
    raise("abs(): Requires float or integer to work with - was given non decimal string")
}

fn digits_of(line: &str) -> &str {
    line.strip_prefix('-').unwrap_or(line)
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

/// The leading number of a text without its sign, as Ruby's `to_i` and `to_f` read it.
fn leading_number(text: &str, with_fraction: bool) -> String {
    let mut number = String::new();
    let mut letters = digits_of(text.trim_start()).chars().peekable();
    while let Some(letter) = letters.next() {
        let is_before_digit = letters.peek().is_some_and(char::is_ascii_digit);
        match letter {
            digit if digit.is_ascii_digit() => number.push(digit),
            '_' if is_before_digit && !number.is_empty() => {}
            '.' if with_fraction && is_before_digit && !number.contains('.') => number.push('.'),
            _ => break,
        }
    }
    number
}

/// Logs Puppet's warning about a string that is converted to a number.
fn warn_of_text(evaluator: &Evaluator<'_>, call: &CallArguments<'_>, into: &str) {
    let name = call.name;
    let message = format!(
        "The {name}() function's auto conversion of String to {into} is deprecated - change to convert input before \
         calling"
    );
    evaluator.warn_once(
        &format!("{name}_function_numeric_coerce_string"),
        &message,
        &call.location(),
    );
}

/// Converts a float without fraction to an integer; an error if it is out of range.
fn to_whole_number(number: f64) -> EvalResult {
    if number.is_nan() || number.is_infinite() {
        return raise(ruby::to_s(&Value::Float(number)));
    }
    if number.abs() >= 9_223_372_036_854_775_808.0 {
        return raise("the result is outside of the range of Puppet's integers");
    }
    Ok(Value::Int(number as i64))
}

fn ceiling(_: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    match call.take(0) {
        Value::Float(number) => to_whole_number(number.ceil()),
        other => Ok(other),
    }
}

fn floor(_: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    match call.take(0) {
        Value::Float(number) => to_whole_number(number.floor()),
        other => Ok(other),
    }
}

fn ceiling_text(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    warn_of_text(evaluator, &call, "Float");
    match float(&call.text(0)) {
        Some(number) => to_whole_number(number.ceil()),
        None => raise("ceiling(): cannot convert given value to a floating point value."),
    }
}

fn floor_text(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    warn_of_text(evaluator, &call, "Float");
    match float(&call.text(0)) {
        Some(number) => to_whole_number(number.floor()),
        None => raise("floor(): cannot convert given value to a floating point value."),
    }
}

fn round(_: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    match call.take(0) {
        Value::Float(number) if number > 0.0 => to_whole_number((number + 0.5).trunc()),
        Value::Float(number) => to_whole_number((number - 0.5).trunc()),
        other => Ok(other),
    }
}

/// Returns the values of a call, which may be given as one list.
fn values(call: &CallArguments<'_>) -> Vec<Value> {
    match call.arguments.as_slice() {
        [Value::Array(elements)] => elements.to_vec(),
        several => several.to_vec(),
    }
}

fn extreme(
    evaluator: &mut Evaluator<'_>,
    call: &CallArguments<'_>,
    wanted: Ordering,
    order: CompareFn,
) -> EvalResult {
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
            None => order(evaluator, call, &value, &best),
        };
        if ordering == wanted {
            best = value;
        }
    }
    Ok(best)
}

/// Compares two values; warnings name the call.
type CompareFn = fn(&Evaluator<'_>, &CallArguments<'_>, &Value, &Value) -> Ordering;

/// Compares two values of the same ordered type.
fn by_value(_: &Evaluator<'_>, _: &CallArguments<'_>, a: &Value, b: &Value) -> Ordering {
    crate::evaluator::compare_values(a, b).unwrap_or(Ordering::Equal)
}

/// Compares two strings; as numbers, with a warning, if both are numbers.
fn by_text(evaluator: &Evaluator<'_>, call: &CallArguments<'_>, a: &Value, b: &Value) -> Ordering {
    texts(evaluator, call, a, b, false)
}

/// Compares values of different types by their texts, with a warning; as numbers if both are.
fn by_any(evaluator: &Evaluator<'_>, call: &CallArguments<'_>, a: &Value, b: &Value) -> Ordering {
    texts(evaluator, call, a, b, true)
}

fn texts(
    evaluator: &Evaluator<'_>,
    call: &CallArguments<'_>,
    a: &Value,
    b: &Value,
    warn_of_others: bool,
) -> Ordering {
    let warn = |from: &str, to: &str, key: &str| {
        let name = call.name;
        let message = format!(
            "The {name}() function's auto conversion of {from} to {to} is deprecated - change to convert input \
             before calling, or use lambda"
        );
        evaluator.warn_once(
            &format!("{name}_function_{key}"),
            &message,
            &call.location(),
        );
    };
    let (a, b) = (ruby::to_s(a), ruby::to_s(b));
    if let (Some(a), Some(b)) = (number_of(&a), number_of(&b)) {
        warn("String", "Numeric", "numeric_coerce_string");
        return a.partial_cmp(&b).unwrap_or(Ordering::Equal);
    }
    if warn_of_others {
        warn("Any", "String", "string_coerce_any");
    }
    a.cmp(&b)
}

/// Reads the number in a string such as `-1`, `1.5`, `1_0`, `1e5`, as Puppet and Ruby's `to_f` do
/// here.
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

fn max_values(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    extreme(evaluator, &call, Ordering::Greater, by_value)
}

fn max_texts(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    extreme(evaluator, &call, Ordering::Greater, by_text)
}

fn max_others(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    extreme(evaluator, &call, Ordering::Greater, by_any)
}

fn min_values(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    extreme(evaluator, &call, Ordering::Less, by_value)
}

fn min_texts(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    extreme(evaluator, &call, Ordering::Less, by_text)
}

fn min_others(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    extreme(evaluator, &call, Ordering::Less, by_any)
}
