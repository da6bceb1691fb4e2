//! Plain scalars that are numbers: [`parse_number`].

use std::fmt::Write as _;
use std::sync::Arc;

use crate::YamlValue;
use crate::defaults::MAX_NUMBER_BYTES;

/// A text with the shape of a number that is not one, on which Psych fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotNumber {
    Invalid,
    TooLong,
}

/// The value of a number; `Ok(None)` if the text does not have the shape of a number.
pub(crate) fn parse_number(text: &str) -> Result<Option<YamlValue>, NotNumber> {
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    let shape = sexagesimal(text)
        .or_else(|| float(text))
        .or_else(|| integer(text));
    shape.transpose()
}

/// The result for a text with the shape of a number: its value, or the error.
type ParsedNumber = Option<Result<YamlValue, NotNumber>>;

fn split_sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// `1:30` and `1:30:00.5`. As in Psych, the first part is hours even if there are only two.
fn sexagesimal(text: &str) -> ParsedNumber {
    let (_, plain) = split_sign(text);
    if !plain.contains(':') {
        return None;
    }
    let (clock, fraction) = match plain.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (plain, None),
    };
    if fraction.is_some_and(|it| !it.bytes().all(|b| b.is_ascii_digit() || b == b'_')) {
        return None;
    }
    let mut parts = clock.split(':');
    let first = parts.next()?;
    let starts = first.starts_with(|c: char| c.is_ascii_digit());
    if !starts || !first.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        return None;
    }
    let mut count = 0;
    for part in parts {
        let fits = match part.as_bytes() {
            [digit] => digit.is_ascii_digit(),
            [ten, digit] => (b'0'..=b'5').contains(ten) && digit.is_ascii_digit(),
            _ => false,
        };
        count += 1;
        if !fits || count > 2 {
            return None;
        }
    }
    Some(Ok(if fraction.is_some() {
        let parts = text.split(':').zip([3600.0, 60.0, 1.0]);
        YamlValue::Float(parts.map(|(part, unit)| leading_float(part) * unit).sum())
    } else {
        let parts = text.split(':').zip([3600, 60, 1]);
        let sum = parts.map(|(part, unit)| leading_integer(part).saturating_mul(unit));
        from_i128(sum.fold(0, i128::saturating_add))
    }))
}

/// Ruby's `to_i`: digits with single underscores between them.
fn leading_integer(text: &str) -> i128 {
    let (negative, plain) = split_sign(text);
    let mut value: i128 = 0;
    let mut after_underscore = true;
    for byte in plain.bytes() {
        match byte {
            b'0'..=b'9' => {
                value = value
                    .saturating_mul(10)
                    .saturating_add(i128::from(byte - b'0'));
                after_underscore = false;
            }
            b'_' if !after_underscore => after_underscore = true,
            _ => break,
        }
    }
    if negative { -value } else { value }
}

/// Ruby's `to_f`: digits with single underscores between them.
fn leading_float(text: &str) -> f64 {
    let (negative, plain) = split_sign(text);
    let mut digits = String::new();
    let mut after_digit = false;
    for byte in plain.bytes() {
        match byte {
            b'0'..=b'9' => digits.push(char::from(byte)),
            b'.' if after_digit && !digits.contains('.') => digits.push('.'),
            b'_' if after_digit => {}
            _ => break,
        }
        after_digit = byte.is_ascii_digit();
    }
    let value: f64 = digits.parse().unwrap_or(0.0);
    if negative { -value } else { value }
}

/// `1.5`, `.5`, `1.`, `1_000.5`, `1.5e+3`: with a dot, and an exponent with a sign.
fn float(text: &str) -> ParsedNumber {
    let (_, plain) = split_sign(text);
    let (whole, after) = plain.split_once('.')?;
    let digits_and = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_digit() || b == b'_' || b == b',')
    };
    if whole.starts_with(['_', ',']) || !digits_and(whole) {
        return None;
    }
    let fraction = after.bytes().take_while(u8::is_ascii_digit).count();
    let exponent = &after[fraction..];
    if !exponent.is_empty() && !is_exponent(exponent) {
        return None;
    }
    if whole.is_empty() && after.is_empty() {
        return None;
    }
    if whole.is_empty() && fraction == 0 {
        return Some(Err(NotNumber::Invalid));
    }
    let plain: String = text.chars().filter(|c| !matches!(c, '_' | ',')).collect();
    Some(
        plain
            .parse()
            .map(YamlValue::Float)
            .map_err(|_| NotNumber::Invalid),
    )
}

/// `e+12`
fn is_exponent(text: &str) -> bool {
    let rest = text.strip_prefix(['e', 'E']);
    let digits = rest.and_then(|it| it.strip_prefix(['+', '-']));
    digits.is_some_and(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit()))
}

/// `12`, `1_000`, `1,000`, `010`, `0x1f`, `0b11`.
fn integer(text: &str) -> ParsedNumber {
    let (negative, plain) = split_sign(text);
    let separator = |b: u8| b == b'_' || b == b',';
    let prefixed = |prefix: &str, digit: fn(u8) -> bool| {
        let rest = plain.strip_prefix(prefix)?;
        let fits = !rest.is_empty() && rest.bytes().all(|b| digit(b) || separator(b));
        fits.then_some(rest)
    };
    let (radix, digits) = if let Some(rest) = prefixed("0b", |b| b == b'0' || b == b'1') {
        (2, rest)
    } else if let Some(rest) = prefixed("0x", |b| b.is_ascii_hexdigit()) {
        (16, rest)
    } else if prefixed("0", |b| (b'0'..=b'7').contains(&b)).is_some() {
        // With the zero: `0_` is a number, `0x_` is not.
        (8, plain)
    } else if is_decimal(plain.as_bytes()) {
        (10, plain)
    } else {
        return None;
    };
    let digits: String = digits.chars().filter(|c| !matches!(c, '_' | ',')).collect();
    if digits.is_empty() {
        return Some(Err(NotNumber::Invalid));
    }
    if digits.len() > MAX_NUMBER_BYTES {
        return Some(Err(NotNumber::TooLong));
    }
    Some(Ok(match i128::from_str_radix(&digits, radix) {
        Ok(value) => from_i128(if negative { -value } else { value }),
        Err(_) => big(negative, &digits, radix),
    }))
}

/// `0`, or digits of which the first is not zero, with single separators between them.
fn is_decimal(bytes: &[u8]) -> bool {
    if bytes == b"0" {
        return true;
    }
    let mut after_digit = false;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'0' if at == 0 => return false,
            b'0'..=b'9' => after_digit = true,
            b'_' | b',' if after_digit => after_digit = false,
            _ => return false,
        }
    }
    after_digit
}

fn from_i128(value: i128) -> YamlValue {
    match i64::try_from(value) {
        Ok(value) => YamlValue::Integer(value),
        Err(_) => YamlValue::BigInteger(Arc::from(value.to_string())),
    }
}

/// Any number of digits, as decimal text.
fn big(negative: bool, digits: &str, radix: u32) -> YamlValue {
    const CHUNK: u64 = 1_000_000_000;
    // Nine decimal digits each, the least significant first.
    let mut chunks: Vec<u32> = vec![0];
    for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
        let mut carry = u64::from(digit);
        for chunk in &mut chunks {
            let value = u64::from(*chunk) * u64::from(radix) + carry;
            *chunk = u32::try_from(value % CHUNK).unwrap_or(0);
            carry = value / CHUNK;
        }
        if carry > 0 {
            chunks.push(u32::try_from(carry).unwrap_or(0));
        }
    }
    let mut text = String::from(if negative { "-" } else { "" });
    for (at, chunk) in chunks.iter().rev().enumerate() {
        match at {
            0 => _ = write!(text, "{chunk}"),
            _ => _ = write!(text, "{chunk:09}"),
        }
    }
    YamlValue::BigInteger(Arc::from(text))
}
