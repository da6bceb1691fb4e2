//! Ruby's `sprintf` for one value: texts, integers in any base, floats.
//!
//! Invariant: flags that Ruby does not know are errors, since Puppet passes its formats on
//! unchanged.

use std::fmt::Write as _;

use super::spec::{FormatError, NumberSign, ValueFormat};

/// Refuses flags that only Puppet knows.
pub(super) fn check(format: &ValueFormat) -> Result<(), FormatError> {
    match format.flags.chars().find(|c| "[{(<|".contains(*c)) {
        Some('<' | '{') => Err(FormatError::MalformedName),
        Some(flag) => Err(FormatError::Malformed(flag.to_string())),
        None => Ok(()),
    }
}

/// `%s` of a text.
pub(super) fn text(format: &ValueFormat, text: &str) -> Result<String, FormatError> {
    check(format)?;
    let cut: String = match format.precision {
        Some(most) => text.chars().take(most).collect(),
        None => text.to_owned(),
    };
    Ok(pad(format, &cut))
}

/// Adds blanks before or after the text.
fn pad(format: &ValueFormat, text: &str) -> String {
    let width = format.width.unwrap_or(0);
    if format.left {
        format!("{text:<width$}")
    } else {
        format!("{text:>width$}")
    }
}

/// `%d`, `%x`, `%X`, `%o`, `%b`, `%B` of an integer.
pub(super) fn integer(format: &ValueFormat, number: i128) -> Result<String, FormatError> {
    check(format)?;
    let base = match format.letter {
        'x' | 'X' => 16,
        'o' => 8,
        'b' | 'B' => 2,
        _ => 10,
    };
    if number < 0 && base != 10 && format.plus == NumberSign::Ignore {
        return Ok(complement(format, number, base));
    }
    let mut digits = digits_in_base(number.unsigned_abs(), base);
    if let Some(least) = format.precision {
        digits = format!("{digits:0>least$}");
    }
    let sign = match (number < 0, format.plus) {
        (true, _) => "-",
        (false, NumberSign::Plus) => "+",
        (false, NumberSign::Space) => " ",
        (false, NumberSign::Ignore) => "",
    };
    let prefix = if number == 0 { "" } else { prefix(format) };
    if format.zero && !format.left && format.precision.is_none() {
        let width = format
            .width
            .unwrap_or(0)
            .saturating_sub(sign.len() + prefix.len());
        digits = format!("{digits:0>width$}");
    }
    let whole = format!("{sign}{prefix}{digits}");
    Ok(pad(format, &apply_case(format, whole)))
}

fn prefix(format: &ValueFormat) -> &'static str {
    match format.letter {
        _ if !format.alt => "",
        'x' | 'X' => "0x",
        'o' => "0",
        'b' => "0b",
        'B' => "0B",
        _ => "",
    }
}

fn apply_case(format: &ValueFormat, text: String) -> String {
    if format.letter == 'X' {
        text.to_uppercase()
    } else {
        text
    }
}

fn digits_in_base(mut number: u128, base: u32) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = u32::try_from(number % u128::from(base)).unwrap_or(0);
        digits.push(char::from_digit(digit, base).unwrap_or('0'));
        number /= u128::from(base);
        if number == 0 {
            break;
        }
    }
    digits.iter().rev().collect()
}

/// A negative number in two's complement; the endless leading digits are shown as `..f`.
fn complement(format: &ValueFormat, number: i128, base: u32) -> String {
    let (bits, filler) = match base {
        16 => (4, 'f'),
        8 => (3, '7'),
        _ => (1, '1'),
    };
    // enough digits that the first is the filler; 126 is a multiple of 3, 124 of 4
    let used = (128 - number.unsigned_abs().leading_zeros()).div_ceil(bits) + 1;
    let modulus = 1_u128 << (used * bits);
    let wrapped = modulus.wrapping_sub(number.unsigned_abs());
    let all = digits_in_base(wrapped, base);
    let significant = all.trim_start_matches(filler);
    let mut digits = format!("{filler}{significant}");
    let prefix = if base == 8 { "" } else { prefix(format) };
    let mut dots = "..";
    if let Some(least) = format.precision.filter(|least| *least > digits.len()) {
        digits = fill(&digits, filler, least);
        dots = "";
    } else if format.zero && !format.left {
        let width = format.width.unwrap_or(0).saturating_sub(prefix.len());
        if width > digits.len() + 2 {
            digits = fill(&digits, filler, width);
            dots = "";
        }
    }
    pad(
        format,
        &apply_case(format, format!("{prefix}{dots}{digits}")),
    )
}

fn fill(digits: &str, filler: char, width: usize) -> String {
    let missing = width.saturating_sub(digits.len());
    let mut filled: String = std::iter::repeat_n(filler, missing).collect();
    filled.push_str(digits);
    filled
}

/// `%e`, `%f`, `%g`, `%a` and their capitals of a float.
pub(super) fn float(format: &ValueFormat, number: f64) -> Result<String, FormatError> {
    check(format)?;
    let sign = match (number.is_sign_negative() && !number.is_nan(), format.plus) {
        (true, _) => "-",
        (false, NumberSign::Plus) => "+",
        (false, NumberSign::Space) => " ",
        (false, NumberSign::Ignore) => "",
    };
    if !number.is_finite() {
        let word = if number.is_nan() { "NaN" } else { "Inf" };
        return Ok(pad(format, &format!("{sign}{word}")));
    }
    let magnitude = number.abs();
    let (prefix, body) = match format.letter.to_ascii_lowercase() {
        'e' => (
            "",
            exponential(magnitude, format.precision.unwrap_or(6), format.alt),
        ),
        'g' => ("", shortest(magnitude, format)),
        'a' => ("0x", hexadecimal(magnitude, format.precision, format.alt)),
        _ => (
            "",
            fixed(magnitude, format.precision.unwrap_or(6), format.alt),
        ),
    };
    let body = if format.zero && !format.left {
        let width = format
            .width
            .unwrap_or(0)
            .saturating_sub(sign.len() + prefix.len());
        format!("{body:0>width$}")
    } else {
        body
    };
    let whole = format!("{sign}{prefix}{body}");
    let whole = if format.letter.is_ascii_uppercase() {
        whole.to_uppercase()
    } else {
        whole
    };
    Ok(pad(format, &whole))
}

fn fixed(number: f64, precision: usize, alt: bool) -> String {
    let mut text = format!("{number:.precision$}");
    if alt && precision == 0 {
        text.push('.');
    }
    text
}

fn exponential(number: f64, precision: usize, alt: bool) -> String {
    let text = format!("{number:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if alt && precision == 0 { "." } else { "" };
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}{point}e{sign}{digits:0>2}")
}

/// The shorter of both forms, without trailing zeros.
fn shortest(number: f64, format: &ValueFormat) -> String {
    let precision = format.precision.unwrap_or(6).max(1);
    let scientific = format!("{number:.*e}", precision - 1);
    let exponent: i64 = scientific
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(0);
    let limit = i64::try_from(precision).unwrap_or(i64::MAX);
    let text = if exponent < -4 || exponent >= limit {
        exponential(number, precision - 1, format.alt)
    } else {
        let digits = usize::try_from(limit - 1 - exponent).unwrap_or(0);
        fixed(number, digits, format.alt)
    };
    if format.alt {
        return text;
    }
    let (mantissa, exponent) = match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, format!("e{exponent}")),
        None => (text.as_str(), String::new()),
    };
    let trimmed = if mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        mantissa
    };
    format!("{trimmed}{exponent}")
}

/// `1.8p+1`: the digits of the fraction in base 16.
fn hexadecimal(number: f64, precision: Option<usize>, alt: bool) -> String {
    let point = if alt { "." } else { "" };
    if number == 0.0 {
        return format!("0{point}p+0");
    }
    let bits = number.to_bits();
    let raw_exponent = i64::try_from((bits >> 52) & 0x7ff).unwrap_or(0);
    let mut fraction = bits & ((1 << 52) - 1);
    let (mut lead, exponent) = if raw_exponent == 0 {
        (0_u64, -1_022)
    } else {
        (1, raw_exponent - 1_023)
    };
    let mut digits = 13;
    if let Some(precision) = precision.filter(|precision| *precision < 13) {
        let dropped = 4 * (13 - precision);
        let half = 1_u64 << (dropped - 1);
        let rest = fraction & ((1 << dropped) - 1);
        let mut kept = (lead << 52 | fraction) >> dropped;
        if rest > half || (rest == half && kept & 1 == 1) {
            kept += 1;
        }
        lead = kept >> (4 * precision);
        fraction = kept & ((1 << (4 * precision)) - 1);
        digits = precision;
    }
    let mut text = format!("{lead}");
    if digits > 0 {
        let all = format!("{fraction:0digits$x}");
        let shown = match precision {
            Some(precision) => format!("{all:0<precision$}"),
            None => all.trim_end_matches('0').to_owned(),
        };
        if shown.is_empty() {
            text.push_str(point);
        } else {
            let _ = write!(text, ".{shown}");
        }
    }
    let _ = write!(text, "p{exponent:+}");
    text
}
