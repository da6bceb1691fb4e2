//! The language's own comparisons: [`Value::equals`] and [`Value::compare`].
//!
//! Invariant: ASCII letters are compared without case, other letters with case; numbers are
//! compared by value, and times with numbers as seconds.

use std::cmp::Ordering;

use super::{PuppetTimestamp, Timespan, Value};

/// Two values cannot be ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    #[error("A String is not comparable to a non String")]
    String,
    #[error("A Numeric is not comparable to non Numeric")]
    Numeric,
    #[error("can't convert SemanticPuppet::Version into Float")]
    NumberAndVersion,
    #[error("Timespans are only comparable to Timespans, Integers, and Floats")]
    Timespan,
    #[error("Timestamps are only comparable to Timestamps, Integers, and Floats")]
    Timestamp,
    #[error("Versions not comparable to non Versions")]
    Version,
    #[error("Symbol not comparable to non Symbol")]
    Default,
    #[error("Only Strings, Numbers, Timespans, Timestamps, and Versions are comparable")]
    Other,
}

impl Value {
    /// Equality as the operator `==` of the language defines it.
    #[must_use]
    pub fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Str(a), Self::Str(b)) => a.eq_ignore_ascii_case(b),
            (Self::Array(a), Self::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.equals(b))
            }
            (Self::Hash(a), Self::Hash(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .all(|(key, value)| b.get(key).unwrap_or(&Self::Undef).equals(value))
            }
            (Self::Uri(a), Self::Uri(b)) => a.normalized() == b.normalized(),
            _ => match numeric_order(self, other) {
                Some(order) => order == Some(Ordering::Equal),
                None => self == other,
            },
        }
    }

    /// The order of two values, as for `<` and `>`. `Ok(None)` if one of them is NaN, which has no
    /// order.
    pub fn compare(&self, other: &Self) -> Result<Option<Ordering>, CompareError> {
        match (self, other) {
            (Self::Str(a), Self::Str(b)) => Ok(Some(compare_folded(a, b))),
            (Self::SemVer(a), Self::SemVer(b)) => Ok(Some(a.compare(b))),
            (Self::Default, Self::Default) => Ok(Some(Ordering::Equal)),
            (Self::Int(_) | Self::Float(_), Self::SemVer(_)) => Err(CompareError::NumberAndVersion),
            // Ruby converts both to floats here, and to whole seconds in the reverse direction
            (Self::Int(seconds), Self::Timespan(_) | Self::Timestamp(_)) => {
                #[expect(clippy::cast_precision_loss, reason = "it is compared as a float")]
                let seconds = *seconds as f64;
                Self::Float(seconds).compare(other)
            }
            _ => numeric_order(self, other).ok_or(match self {
                Self::Str(_) => CompareError::String,
                Self::Int(_) | Self::Float(_) => CompareError::Numeric,
                Self::Timespan(_) => CompareError::Timespan,
                Self::Timestamp(_) => CompareError::Timestamp,
                Self::SemVer(_) => CompareError::Version,
                Self::Default => CompareError::Default,
                _ => CompareError::Other,
            }),
        }
    }
}

/// The order of numbers and times; `None` if they are neither, or cannot be compared.
fn numeric_order(a: &Value, b: &Value) -> Option<Option<Ordering>> {
    Some(match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Float(b)) => int_to_float(*a, *b),
        (Value::Float(a), Value::Int(b)) => int_to_float(*b, *a).map(Ordering::reverse),
        (Value::Timespan(a), Value::Timespan(b)) => Some(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Some(a.cmp(b)),
        (
            Value::Timespan(Timespan(_)) | Value::Timestamp(PuppetTimestamp(_)),
            Value::Int(seconds),
        ) => Some(whole_seconds(a)?.cmp(seconds)),
        (Value::Int(seconds), Value::Timespan(_) | Value::Timestamp(_)) => {
            Some(seconds.cmp(&whole_seconds(b)?))
        }
        (Value::Timespan(_) | Value::Timestamp(_), Value::Float(seconds)) => {
            float_seconds(a)?.partial_cmp(seconds)
        }
        (Value::Float(seconds), Value::Timespan(_) | Value::Timestamp(_)) => {
            seconds.partial_cmp(&float_seconds(b)?)
        }
        _ => return None,
    })
}

/// Compares exactly, even if a float cannot represent the integer.
fn int_to_float(int: i64, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    // 2^63: the first float above all integers
    const BEHIND: f64 = 9_223_372_036_854_775_808.0;
    if float >= BEHIND {
        return Some(Ordering::Less);
    }
    if float < -BEHIND {
        return Some(Ordering::Greater);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the range was checked above"
    )]
    let whole = float.trunc() as i64;
    Some(
        int.cmp(&whole)
            .then_with(|| 0.0.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal)),
    )
}

fn whole_seconds(value: &Value) -> Option<i64> {
    match value {
        Value::Timespan(span) => Some(span.whole_seconds()),
        Value::Timestamp(time) => Some(time.whole_seconds()),
        _ => None,
    }
}

fn float_seconds(value: &Value) -> Option<f64> {
    match value {
        Value::Timespan(span) => Some(span.seconds()),
        Value::Timestamp(time) => Some(time.seconds()),
        _ => None,
    }
}

/// Ruby's `casecmp`: by bytes, with ASCII letters in lower case.
fn compare_folded(a: &str, b: &str) -> Ordering {
    let fold = |text: &'_ str| {
        text.bytes()
            .map(|byte| byte.to_ascii_lowercase())
            .collect::<Vec<u8>>()
    };
    fold(a).cmp(&fold(b))
}
