//! `Array(x)`, `Integer(x)`, `String(x)` and `Float(x)`.

use super::Interpreter;
use crate::syntax::Conversion;
use crate::value::{Eval, RubyValue, refuse};

impl Interpreter<'_, '_> {
    pub(super) fn convert(conversion: Conversion, operand: RubyValue) -> Eval {
        match (conversion, operand) {
            (Conversion::Array, RubyValue::Nil) => Ok(RubyValue::array(Vec::new())),
            (Conversion::Array, array @ RubyValue::Array(_)) => Ok(array),
            (Conversion::Array, RubyValue::Hash(entries)) => {
                Ok(RubyValue::array(super::hashes::pairs(&*entries.get()?)))
            }
            (
                Conversion::Array,
                value @ (RubyValue::Str(_)
                | RubyValue::Int(_)
                | RubyValue::Float(_)
                | RubyValue::Bool(_)
                | RubyValue::Symbol(_)),
            ) => Ok(RubyValue::array(vec![value])),
            (Conversion::String, text @ RubyValue::Str(_)) => Ok(text),
            (Conversion::String, value) => Ok(RubyValue::string(value.to_text()?)),
            (Conversion::Integer, number @ RubyValue::Int(_))
            | (Conversion::Float, number @ RubyValue::Float(_)) => Ok(number),
            (Conversion::Integer, RubyValue::Str(text)) => strict_integer(&text.get()),
            (_, other) => refuse(format!("a conversion of {}", other.kind())),
        }
    }
}

/// Decimal digits with a sign; other notations are Ruby's.
fn strict_integer(text: &str) -> Eval {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_octal = digits.len() > 1 && digits.starts_with('0');
    match text.parse() {
        Ok(number) if is_decimal && !is_octal => Ok(RubyValue::Int(number)),
        _ => refuse("a conversion to an integer"),
    }
}
