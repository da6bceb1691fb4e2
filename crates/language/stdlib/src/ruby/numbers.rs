//! Lenient conversion of texts to numbers: `to_i` and `to_f`. The strict conversions are in the
//! evaluator.

pub(crate) use evaluator::ruby_numbers::{float, integer};
use evaluator::{EvalResult, raise};
use pcore::Value;

use crate::old_api::class_name;

/// `String#to_i`; a number out of range becomes the largest integer.
pub(crate) fn to_i(text: &str) -> i64 {
    let text = text.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let (negative, digits) = sign(text);
    let mut number: i64 = 0;
    let mut before = '_';
    for c in digits.chars() {
        match c.to_digit(10) {
            Some(digit) => {
                number = number.saturating_mul(10).saturating_add(i64::from(digit));
            }
            None if c == '_' && before != '_' => {}
            None => break,
        }
        before = c;
    }
    if negative { -number } else { number }
}

/// Ruby's `to_i` of any value.
pub(crate) fn value_to_i(value: &Value) -> EvalResult<i64> {
    match value {
        Value::Int(number) => Ok(*number),
        #[expect(clippy::cast_possible_truncation, reason = "it is cut off at the ends")]
        Value::Float(number) => Ok(*number as i64),
        Value::Str(text) => Ok(to_i(text)),
        Value::Undef => Ok(0),
        other => raise(format!("undefined method `to_i' for {}", class_name(other))),
    }
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Ruby's `String#to_f`.
pub(crate) fn to_f(text: &str) -> f64 {
    let text = text.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let (negative, rest) = sign(text);
    let (whole, rest) = digits(rest);
    let mut number = whole.clone();
    if whole.is_empty() {
        number.push('0');
    }
    let mut rest = rest;
    if let Some(behind) = rest.strip_prefix('.') {
        let (fraction, after) = digits(behind);
        if !fraction.is_empty() {
            number = format!("{number}.{fraction}");
            rest = after;
        }
    }
    if let Some(behind) = rest.strip_prefix(['e', 'E']) {
        let (minus, behind) = sign(behind);
        let (exponent, _) = digits(behind);
        if !exponent.is_empty() {
            number = format!("{number}e{}{exponent}", if minus { "-" } else { "" });
        }
    }
    let number: f64 = number.parse().unwrap_or_default();
    if negative { -number } else { number }
}

/// Leading digits, without single `_` between them, and the rest of the text.
fn digits(text: &str) -> (String, &str) {
    let mut digits = String::new();
    let mut end = 0;
    for (at, c) in text.char_indices() {
        if c.is_ascii_digit() {
            digits.push(c);
            end = at + 1;
        } else if c != '_' || end != at || digits.is_empty() {
            break;
        }
    }
    (digits, &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_numbers_that_ruby_reads() {
        assert_eq!(
            [
                to_i("12ab"),
                to_i(" -7"),
                to_i("1_000"),
                to_i("x"),
                to_i("1__0")
            ],
            [12, -7, 1000, 0, 1]
        );
        assert_eq!(
            [
                to_f("1.5e3x"),
                to_f("-.5"),
                to_f("1."),
                to_f("e5"),
                to_f("1e")
            ],
            [1500.0, -0.5, 1.0, 0.0, 1.0]
        );
    }
}
