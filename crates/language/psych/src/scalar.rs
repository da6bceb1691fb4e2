//! The value of a plain scalar: [`parse_plain`].
//!
//! The tests are in Psych's order, which affects the result: a text with a letter or blank near its
//! beginning is never a number, and only short texts can be words like `yes`.

use std::sync::Arc;

use crate::YamlValue;
use crate::number::{NotNumber, parse_number};
use crate::time::{DateTimeScalar, parse_date_time};

/// The reason for which a plain scalar is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RefusedScalar {
    /// Its class must be allowed explicitly.
    Class(&'static str),
    Number(NotNumber),
}

/// The classes to which a plain scalar may be converted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AllowedClasses {
    pub(crate) symbols: bool,
    pub(crate) times: bool,
}

pub(crate) fn parse_plain(text: &str, allowed: AllowedClasses) -> Result<YamlValue, RefusedScalar> {
    if text.is_empty() {
        return Ok(YamlValue::Null);
    }
    if is_wordlike(text) {
        return Ok(word(text));
    }
    if let Some(shape) = parse_date_time(text) {
        let (class, value) = match shape {
            DateTimeScalar::Date(date) => ("Date", date.map(YamlValue::Date)),
            DateTimeScalar::Time(time) => ("Time", time.map(YamlValue::Time)),
        };
        if !allowed.times {
            return Err(RefusedScalar::Class(class));
        }
        return Ok(value.unwrap_or_else(|| string(text)));
    }
    if let Some(value) = parse_not_finite(text) {
        return Ok(YamlValue::Float(value));
    }
    if let Some(name) = text.strip_prefix(':')
        && !name.is_empty()
    {
        if !allowed.symbols {
            return Err(RefusedScalar::Class("Symbol"));
        }
        return Ok(YamlValue::Symbol(Arc::from(symbol(name))));
    }
    match parse_number(text) {
        Ok(value) => Ok(value.unwrap_or_else(|| string(text))),
        Err(not) => Err(RefusedScalar::Number(not)),
    }
}

fn string(text: &str) -> YamlValue {
    YamlValue::String(Arc::from(text))
}

/// True if the first character is a letter, blank or sign, or the second one is and the first
/// cannot begin a number or symbol.
fn is_wordlike(text: &str) -> bool {
    let mut chars = text.chars();
    let (first, second) = (chars.next(), chars.next());
    let near = match (first, second) {
        (Some(first), _) if is_word_char(first) => true,
        (Some('0'..='9' | '.' | ':' | '-'), _) | (_, None) => false,
        (_, Some(second)) => is_word_char(second),
    };
    near || text.contains('\n')
}

fn is_word_char(c: char) -> bool {
    c.is_alphabetic()
        || c.is_ascii_whitespace()
        || c == '\x0b'
        || "_!@#$%^&*(){}<>|/\\~;=".contains(c)
}

/// Parses `yes`, `off`, `null` and the like in any case; other words are texts.
fn word(text: &str) -> YamlValue {
    const LONGEST: usize = 5;
    if text.chars().nth(LONGEST).is_some() {
        return string(text);
    }
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        let first = line.chars().next();
        let other = match first {
            Some(c) => !matches!(c.to_ascii_lowercase(), 'y' | 't' | 'o' | 'n' | 'f' | '~'),
            None => lines.peek().is_some(),
        };
        if other {
            return string(text);
        }
    }
    let any = |words: &[&str]| {
        let mut lines = text.split('\n');
        lines.any(|line| words.iter().any(|word| line.eq_ignore_ascii_case(word)))
    };
    if text == "~" || any(&["null"]) {
        YamlValue::Null
    } else if any(&["yes", "true", "on"]) {
        YamlValue::Bool(true)
    } else if any(&["no", "false", "off"]) {
        YamlValue::Bool(false)
    } else {
        string(text)
    }
}

fn parse_not_finite(text: &str) -> Option<f64> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is(".inf") || is("+.inf") {
        Some(f64::INFINITY)
    } else if is("-.inf") {
        Some(f64::NEG_INFINITY)
    } else if is(".nan") {
        Some(f64::NAN)
    } else {
        None
    }
}

/// The name after the colon, without quotes around it.
fn symbol(name: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(rest) = name.strip_prefix(quote)
            && let Some(end) = rest.rfind(quote)
        {
            let inner = &rest[..end];
            return inner.strip_prefix(':').unwrap_or(inner);
        }
    }
    name
}

/// A value tagged as a float.
pub(crate) fn as_float(value: &YamlValue) -> Result<YamlValue, RefusedScalar> {
    let float = match value {
        YamlValue::Float(float) => Some(*float),
        #[expect(clippy::cast_precision_loss, reason = "Ruby's Float() rounds too")]
        YamlValue::Integer(integer) => Some(*integer as f64),
        YamlValue::BigInteger(text) | YamlValue::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    float
        .map(YamlValue::Float)
        .ok_or(RefusedScalar::Number(NotNumber::Invalid))
}
