//! Texts as numbers: `to_i` and `to_f`, which take what they can, `Integer()` and `Float()`, which are
//! strict.

use evaluator::{Eval, raise};
use pcore::Value;

use crate::old::class;

/// `String#to_i`; what does not fit is the largest integer.
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

/// `to_i` of any value.
pub(crate) fn value_to_i(value: &Value) -> Eval<i64> {
    match value {
        Value::Int(number) => Ok(*number),
        #[expect(clippy::cast_possible_truncation, reason = "it is cut off at the ends")]
        Value::Float(number) => Ok(*number as i64),
        Value::Str(text) => Ok(to_i(text)),
        Value::Undef => Ok(0),
        other => raise(format!("undefined method `to_i' for {}", class(other))),
    }
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// `String#to_f`.
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

/// Digits from the start, with single `_` between them left out, and what follows.
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

/// `Integer(text)`: all of the text, with a sign, a prefix for the base and single `_`.
pub(crate) fn integer(text: &str) -> Option<i64> {
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace());
    let (negative, digits) = sign(text);
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.get(..2) {
        Some("0x") => (16, &lower[2..]),
        Some("0b") => (2, &lower[2..]),
        Some("0o") => (8, &lower[2..]),
        Some("0d") => (10, &lower[2..]),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, lower[1..].trim_start_matches('_')),
        _ => (10, lower.as_str()),
    };
    let badly_joined = digits.starts_with('_') || digits.ends_with('_') || digits.contains("__");
    if digits.is_empty() || badly_joined || digits.starts_with(['+', '-']) {
        return None;
    }
    let number = i128::from_str_radix(&digits.replace('_', ""), radix).ok()?;
    i64::try_from(if negative { -number } else { number }).ok()
}

/// `Float(text)`.
pub(crate) fn float(text: &str) -> Option<f64> {
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace());
    let (negative, rest) = sign(text);
    if rest
        .get(..2)
        .is_some_and(|it| it.eq_ignore_ascii_case("0x"))
    {
        #[expect(clippy::cast_precision_loss, reason = "Ruby rounds too")]
        return integer(text).map(|number| number as f64);
    }
    let lower = rest.to_ascii_lowercase();
    let (mantissa, exponent) = match lower.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (lower.as_str(), None),
    };
    let is_number = |text: &str| {
        let joined = text.starts_with('_') || text.ends_with('_') || text.contains("__");
        !text.is_empty() && !joined && text.bytes().all(|it| it.is_ascii_digit() || it == b'_')
    };
    let mantissa_fits = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole.is_empty() || is_number(whole)) && is_number(fraction),
        None => is_number(mantissa),
    };
    if !mantissa_fits || !exponent.is_none_or(|it| is_number(sign(it).1)) {
        return None;
    }
    let number: f64 = lower.replace('_', "").parse().ok()?;
    Some(if negative { -number } else { number })
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
        assert_eq!(
            [
                integer("0x1F"),
                integer("010"),
                integer("1_0"),
                integer("-0b11")
            ],
            [Some(31), Some(8), Some(10), Some(-3)]
        );
        assert_eq!(
            [
                integer("1__0"),
                integer("08"),
                integer("1.0"),
                integer(""),
                integer("0x")
            ],
            [None; 5]
        );
        assert_eq!(
            [float("1e3"), float(" .5 "), float("0x10"), float("-1_0.5")],
            [Some(1000.0), Some(0.5), Some(16.0), Some(-10.5)]
        );
        assert_eq!(
            [
                float("1."),
                float("1e"),
                float(""),
                float("a"),
                float("1__0")
            ],
            [None; 5]
        );
    }
}
