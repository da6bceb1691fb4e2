//! The match of `case`, selectors and type parameters: [`matches`].
//!
//! Invariant: it is the language's match without the captures of regexes, which belong to the
//! evaluator.

use crate::value::{SemVer, Value};

/// True if a value matches a pattern: a regex, a type, a version range, a list or hash of patterns,
/// or an equal value.
pub(crate) fn matches(value: &Value, pattern: &Value) -> bool {
    match pattern {
        Value::Regexp(regexp) => value.as_str().is_some_and(|text| regexp.is_match(text)),
        Value::Type(ty) => ty.is_instance(value),
        Value::Default => true,
        Value::Array(patterns) => match value {
            Value::Array(values) => {
                values.len() == patterns.len()
                    && values
                        .iter()
                        .zip(patterns.iter())
                        .all(|(value, pattern)| matches(value, pattern))
            }
            _ => false,
        },
        Value::Hash(patterns) => match value {
            Value::Hash(values) => patterns
                .iter()
                .all(|(key, pattern)| matches(values.get(key).unwrap_or(&Value::Undef), pattern)),
            _ => false,
        },
        Value::SemVer(version) => match value {
            Value::SemVer(given) => given == version,
            Value::Str(text) => SemVer::parse(text).is_ok_and(|given| given == **version),
            _ => false,
        },
        Value::SemVerRange(range) => match value {
            Value::SemVer(given) => range.includes(given),
            Value::Str(text) => SemVer::parse(text).is_ok_and(|given| range.includes(&given)),
            _ => false,
        },
        _ => value.equals(pattern),
    }
}
