//! `sort` and `compare`.

use std::cmp::Ordering;

use pcore::Value;

use crate::Evaluator;
use crate::error::{EvalResult, raise};
use crate::evaluator::{casecmp, compare_values};
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, any, one, optional};
use crate::{label, ruby};

const TWO: &str = "Callable[2,2]";
const COMPARABLE: &[(&str, &str)] = &[
    ("TimeComparable", "Variant[Numeric, Timespan, Timestamp]"),
    ("Comparable", "Variant[String, Semver, TimeComparable]"),
];

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "sort",
        &[
            FunctionDispatch::new(&[one("String", "string_value")], sort_text)
                .with_optional_block(TWO),
            FunctionDispatch::new(&[one("Array", "array_value")], sort).with_optional_block(TWO),
        ],
    ),
    FunctionSpec::new(
        "compare",
        &[
            FunctionDispatch::new(&[one("Numeric", "a"), one("Numeric", "b")], compare),
            FunctionDispatch::new(
                &[
                    one("String", "a"),
                    one("String", "b"),
                    optional("Boolean", "ignore_case"),
                ],
                compare_texts,
            ),
            FunctionDispatch::new(&[one("Semver", "a"), one("Semver", "b")], compare),
            FunctionDispatch::new(
                &[
                    one("Numeric", "a"),
                    one("Variant[Timespan, Timestamp]", "b"),
                ],
                compare,
            ),
            FunctionDispatch::new(
                &[
                    one("Timestamp", "a"),
                    one("Variant[Timestamp, Numeric]", "b"),
                ],
                compare,
            ),
            FunctionDispatch::new(
                &[one("Timespan", "a"), one("Variant[Timespan, Numeric]", "b")],
                compare,
            ),
            FunctionDispatch::mismatch(
                &[
                    one("Comparable", "a"),
                    one("Comparable", "b"),
                    any("Any", "ignore_case"),
                ],
                argument_message,
            ),
            FunctionDispatch::mismatch(
                &[one("Any", "a"), one("Any", "b"), any("Any", "ignore_case")],
                incomparable,
            ),
        ],
    )
    .with_types(COMPARABLE),
];

fn sort(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let elements = call.list(0).to_vec();
    sort_values(evaluator, &call, elements).map(Value::array)
}

fn sort_text(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let letters = call
        .text(0)
        .chars()
        .map(|it| Value::from(it.to_string()))
        .collect();
    let letters = sort_values(evaluator, &call, letters)?;
    Ok(Value::from(
        letters.iter().filter_map(Value::as_str).collect::<String>(),
    ))
}

fn sort_values(
    evaluator: &mut Evaluator<'_>,
    call: &CallArguments<'_>,
    elements: Vec<Value>,
) -> EvalResult<Vec<Value>> {
    evaluator.charge(elements.len())?;
    let mut elements = elements;
    merge_sort(&mut elements, &mut |a, b| {
        evaluator.charge_steps(1)?;
        match call.block {
            Some(block) => {
                let answer = evaluator.call_block(block, [a.clone(), b.clone()])?;
                ordering(&answer, a, b)
            }
            None => spaceship(a, b),
        }
    })?;
    Ok(elements)
}

/// Sorts with a comparison that may fail.
fn merge_sort(
    elements: &mut Vec<Value>,
    order: &mut dyn FnMut(&Value, &Value) -> EvalResult<Ordering>,
) -> EvalResult<()> {
    if elements.len() < 2 {
        return Ok(());
    }
    let mut right = elements.split_off(elements.len() / 2);
    merge_sort(elements, order)?;
    merge_sort(&mut right, order)?;
    let mut merged = Vec::with_capacity(elements.len() + right.len());
    let mut left = std::mem::take(elements).into_iter().peekable();
    let mut right = right.into_iter().peekable();
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if order(a, b)?.is_le() {
            left.next()
        } else {
            right.next()
        };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    *elements = merged;
    Ok(())
}

/// Converts the result of a block to the order of two values.
pub(super) fn ordering(answer: &Value, a: &Value, b: &Value) -> EvalResult<Ordering> {
    match answer {
        Value::Int(number) => Ok(number.cmp(&0)),
        Value::Float(number) => Ok(number.partial_cmp(&0.0).unwrap_or(Ordering::Equal)),
        _ => raise(comparison_message(a, b)),
    }
}

fn comparison_message(a: &Value, b: &Value) -> String {
    let shown = match b {
        Value::Undef | Value::Default | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
            ruby::inspect(b)
        }
        other => label::ruby_class(other),
    };
    format!("comparison of {} with {shown} failed", label::ruby_class(a))
}

/// Compares like Ruby's `<=>`; an error if the values have no order.
fn spaceship(a: &Value, b: &Value) -> EvalResult<Ordering> {
    match partial(a, b) {
        Some(ordering) => Ok(ordering),
        None => raise(comparison_message(a, b)),
    }
}

fn partial(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
        (Value::Array(a), Value::Array(b)) => {
            for (a, b) in a.iter().zip(b.iter()) {
                match partial(a, b)? {
                    Ordering::Equal => {}
                    other => return Some(other),
                }
            }
            Some(a.len().cmp(&b.len()))
        }
        (Value::Int(_) | Value::Float(_) | Value::Timestamp(_) | Value::Timespan(_), _)
        | (Value::SemVer(_), Value::SemVer(_)) => compare_values(a, b).ok(),
        _ => (a == b).then_some(Ordering::Equal),
    }
}

fn number(ordering: Ordering) -> Value {
    Value::Int(match ordering {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    })
}

fn compare(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    match compare_values(call.get(0), call.get(1)) {
        Ok(ordering) => Ok(number(ordering)),
        Err(text) => raise(text),
    }
}

fn compare_texts(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let (a, b) = (call.text(0), call.text(1));
    Ok(number(if call.get(2).as_bool() == Some(false) {
        a.cmp(&b)
    } else {
        casecmp(&a, &b)
    }))
}

fn argument_message(arguments: &[Value]) -> String {
    let [a, b, rest @ ..] = arguments else {
        return String::new();
    };
    if !rest.is_empty() {
        if !matches!((a, b), (Value::Str(_), Value::Str(_))) {
            return "compare(): The third argument (ignore case) can only be used when comparing strings".to_owned();
        }
        if rest.len() != 1 {
            return format!(
                "compare(): Accepts at most 3 arguments, got {}",
                arguments.len()
            );
        }
        return format!(
            "compare(): The third argument (ignore case) must be a Boolean. Got {}",
            label::value_label(&rest[0])
        );
    }
    format!(
        "compare(): Can only compare values of the same type (or for Timestamp/Timespan also against Numeric). Got {} and {}",
        label::value_label(a),
        label::value_label(b)
    )
}

fn incomparable(arguments: &[Value]) -> String {
    let label = |index: usize| {
        arguments
            .get(index)
            .map(label::value_label)
            .unwrap_or_default()
    };
    format!(
        "compare(): Non comparable type. Only values of the types Numeric, String, Semver, Timestamp and Timestamp can be compared. Got {} and {}",
        label(0),
        label(1)
    )
}
