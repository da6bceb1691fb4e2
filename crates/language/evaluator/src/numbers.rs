//! Texts that are numbers, as Puppet reads them: decimal, octal, hexadecimal, floats.

use pcore::Value;

/// The number in a text; `None` if the text is not a number.
pub(crate) fn parse(text: &str) -> Option<Value> {
    let text = text.strip_prefix("::").unwrap_or(text);
    let text = text.trim_matches([' ', '\t']);
    let (negative, digits) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest.trim_start_matches([' ', '\t'])),
        None => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    if let Some(hexadecimal) = lower.strip_prefix("0x") {
        return integer(hexadecimal, 16, negative);
    }
    if !digits.starts_with(|it: char| it.is_ascii_digit()) {
        return None;
    }
    if digits.bytes().all(|it| it.is_ascii_digit()) {
        let radix = if digits.len() > 1 && digits.starts_with('0') {
            8
        } else {
            10
        };
        return integer(digits, radix, negative);
    }
    if !is_float(&lower) {
        return None;
    }
    let number: f64 = digits.parse().ok()?;
    if number.is_infinite() {
        return None;
    }
    Some(Value::Float(if negative { -number } else { number }))
}

fn integer(digits: &str, radix: u32, negative: bool) -> Option<Value> {
    if digits.is_empty() || digits.starts_with(['+', '-']) {
        return None;
    }
    let number = i128::from_str_radix(digits, radix).ok()?;
    let number = if negative { -number } else { number };
    i64::try_from(number).ok().map(Value::Int)
}

/// `1.5`, `1e3`, `1.5e-3`: digits, a fraction, an exponent that may be negative but not `+`.
fn is_float(lower: &str) -> bool {
    let (mantissa, exponent) = match lower.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (lower, None),
    };
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        Some((whole, fraction)) => all_digits(whole) && all_digits(fraction),
        None => all_digits(mantissa),
    };
    mantissa_ok
        && exponent
            .is_none_or(|exponent| all_digits(exponent.strip_prefix('-').unwrap_or(exponent)))
}
