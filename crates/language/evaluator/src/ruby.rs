//! Ruby semantics of values that are visible in Puppet: `to_s`, `inspect`, `==`, `flatten`.
//!
//! Invariant: [`interpolate`] is for strings of the language; [`to_s`] and [`inspect`] are for
//! values that Puppet passes to Ruby's own printing: error texts and functions of the 3.x API.

use std::fmt::{self, Write};

use pcore::{Hash, Value};

use crate::Evaluator;
use crate::defaults::VALUE_BYTES_MAX;
use crate::error::EvalResult;
pub use crate::label::ruby_class as class_name;
pub use syntax::ast::labels::with_article;

/// Writes a value as in an interpolated string.
pub(crate) fn interpolate(value: &Value, into: &mut dyn Write) -> fmt::Result {
    match value {
        Value::Undef => Ok(()),
        Value::Array(elements) => write_array(elements, interpolate, into),
        Value::Hash(entries) => write_hash(entries, " => ", interpolate, into),
        leaf => self::leaf(leaf, into),
    }
}

/// A writer of values, which a list or hash uses for its elements.
type WriteValue = fn(&Value, &mut dyn Write) -> fmt::Result;

fn write_array(elements: &[Value], write: WriteValue, into: &mut dyn Write) -> fmt::Result {
    into.write_char('[')?;
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            into.write_str(", ")?;
        }
        write(element, into)?;
    }
    into.write_char(']')
}

fn write_hash(entries: &Hash, arrow: &str, write: WriteValue, into: &mut dyn Write) -> fmt::Result {
    into.write_char('{')?;
    for (index, (key, value)) in entries.iter().enumerate() {
        if index > 0 {
            into.write_str(", ")?;
        }
        write(key, into)?;
        into.write_str(arrow)?;
        write(value, into)?;
    }
    into.write_char('}')
}

/// Writes a value that contains no others.
fn leaf(value: &Value, into: &mut dyn Write) -> fmt::Result {
    match value {
        Value::Str(text) => into.write_str(text),
        other => write!(into, "{other}"),
    }
}

/// A value as Ruby's `to_s` prints it.
#[must_use]
pub fn to_s(value: &Value) -> String {
    let mut text = BoundedRubyText::default();
    // the buffer ends a text that is too large, which is refused when its bytes are charged
    let _ = match value {
        Value::Array(_) | Value::Hash(_) => write_inspect(value, &mut text),
        Value::Undef => Ok(()),
        Value::Regexp(regexp) => write!(text, "(?-mix:{})", regexp.source()),
        leaf => self::leaf(leaf, &mut text),
    };
    text.0
}

/// Text buffer that stops growing beyond the maximum size of a value: lists that share their
/// elements may print much larger than they are in memory.
#[derive(Default)]
struct BoundedRubyText(String);

impl Write for BoundedRubyText {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if self.0.len() as u64 > VALUE_BYTES_MAX {
            return Err(fmt::Error);
        }
        self.0.push_str(piece);
        Ok(())
    }
}

/// A value as Ruby's `inspect` prints it.
#[must_use]
pub fn inspect(value: &Value) -> String {
    let mut text = BoundedRubyText::default();
    let _ = write_inspect(value, &mut text);
    text.0
}

fn write_inspect(value: &Value, into: &mut dyn Write) -> fmt::Result {
    match value {
        Value::Undef => into.write_str("nil"),
        Value::Default => into.write_str(":default"),
        Value::Str(text) => into.write_str(&syntax::ruby_inspect(text)),
        Value::Sensitive(_) => write!(into, "#<{}>", pcore::REDACTED),
        Value::Array(elements) => write_array(elements, write_inspect, into),
        Value::Hash(entries) => write_hash(entries, "=>", write_inspect, into),
        leaf => self::leaf(leaf, into),
    }
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_))
}

/// The number of a value for a comparison with a time: seconds.
fn number_of(value: &Value) -> f64 {
    match value {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        _ => f64::NAN,
    }
}

/// Ruby's `==`: `1` equals `1.0`, a time equals its seconds, and texts are compared with case.
#[must_use]
pub fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => *a as f64 == *b,
        (Value::Timespan(span), number) | (number, Value::Timespan(span)) if is_number(number) => {
            number_of(number) == span.seconds()
        }
        (Value::Timestamp(time), number) | (number, Value::Timestamp(time))
            if is_number(number) =>
        {
            number_of(number) == time.seconds()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| equal(a, b))
        }
        (Value::Hash(a), Value::Hash(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, value)| b.get(key).is_some_and(|other| equal(value, other)))
        }
        _ => left == right,
    }
}

/// Ruby's `flatten`: the elements of nested lists in one list.
pub fn flatten(values: &[Value]) -> Vec<Value> {
    let mut flat = Vec::with_capacity(values.len());
    flatten_into(values, &mut flat);
    flat
}

fn flatten_into(values: &[Value], flat: &mut Vec<Value>) {
    for value in values {
        match value {
            Value::Array(inner) => flatten_into(inner, flat),
            other => flat.push(other.clone()),
        }
    }
}

impl Evaluator<'_> {
    /// Converts a value to an argument of a function of the 3.x API: patterns, versions, times and
    /// bytes become strings, and undef at the top level becomes an empty string. The walk is
    /// charged to the budget.
    pub fn old_argument(&self, value: &Value) -> EvalResult {
        match value {
            Value::Undef => Ok(Value::from("")),
            other => self.old_value(other),
        }
    }

    fn old_value(&self, value: &Value) -> EvalResult {
        Ok(match value {
            Value::Regexp(_)
            | Value::SemVer(_)
            | Value::SemVerRange(_)
            | Value::Binary(_)
            | Value::Timespan(_)
            | Value::Timestamp(_) => Value::from(value.to_string()),
            Value::Array(elements) => {
                self.stack_check()?;
                self.charge(elements.len())?;
                let old = elements.iter().map(|it| self.old_value(it));
                Value::array(old.collect::<EvalResult<_>>()?)
            }
            Value::Hash(entries) => {
                self.stack_check()?;
                self.charge(entries.len() * 2)?;
                let mut old = Hash::with_capacity(entries.len());
                for (key, value) in entries.iter() {
                    old.insert(self.old_value(key)?, self.old_value(value)?);
                }
                Value::hash(old)
            }
            other => other.clone(),
        })
    }
}
