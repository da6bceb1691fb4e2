//! Ruby's `==` and `<=>`.

use std::cell::Cell;
use std::cmp::Ordering;

use super::{Depth, Eval, RubyValue, refuse};

impl RubyValue {
    /// `==`
    pub(crate) fn is_equal(&self, other: &Self) -> Eval<bool> {
        self.is_equal_nested(other, Depth::new(&Cell::new(0)))
    }

    fn is_equal_nested(&self, other: &Self, depth: Depth<'_>) -> Eval<bool> {
        depth.visit()?;
        if self.is_opaque() || other.is_opaque() {
            return refuse("a comparison with a value that is only passed on");
        }
        Ok(match (self, other) {
            (Self::Foreign(_) | Self::Match(_) | Self::Class(_), _)
            | (_, Self::Foreign(_) | Self::Match(_) | Self::Class(_)) => {
                return refuse("a comparison with a value that is only printed");
            }
            (Self::Nil, Self::Nil) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Str(a), Self::Str(b)) => a.get() == b.get(),
            (Self::Symbol(a), Self::Symbol(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => {
                let (a, b) = (a.get(), b.get());
                if a.len() != b.len() {
                    return Ok(false);
                }
                for (a, b) in a.iter().zip(b.iter()) {
                    if !a.is_equal_nested(b, depth.deeper())? {
                        return Ok(false);
                    }
                }
                true
            }
            (Self::Hash(a), Self::Hash(b)) => {
                let (a, b) = (a.get()?, b.get()?);
                if a.len() != b.len() {
                    return Ok(false);
                }
                for (key, a) in a.iter() {
                    let Some(b) = b.get(key) else {
                        return Ok(false);
                    };
                    if !a.is_equal_nested(b, depth.deeper())? {
                        return Ok(false);
                    }
                }
                true
            }
            (Self::Range(a, b, c), Self::Range(d, e, f)) => (a, b, c) == (d, e, f),
            (Self::Regex(a), Self::Regex(b)) => a == b,
            (Self::Int(_) | Self::Float(_), Self::Int(_) | Self::Float(_)) => {
                self.compare(other)? == Some(Ordering::Equal)
            }
            _ => false,
        })
    }

    /// `<=>`; `None` if the values cannot be compared.
    pub(crate) fn compare(&self, other: &Self) -> Eval<Option<Ordering>> {
        self.compare_nested(other, Depth::new(&Cell::new(0)))
    }

    fn compare_nested(&self, other: &Self, depth: Depth<'_>) -> Eval<Option<Ordering>> {
        depth.visit()?;
        if self.is_opaque() || other.is_opaque() {
            return refuse(format!("a comparison with {}", other.kind()));
        }
        Ok(match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            (Self::Int(a), Self::Float(b)) => exact_float(*a)?.partial_cmp(b),
            (Self::Float(a), Self::Int(b)) => a.partial_cmp(&exact_float(*b)?),
            (Self::Str(a), Self::Str(b)) => Some(a.get().as_bytes().cmp(b.get().as_bytes())),
            (Self::Symbol(a), Self::Symbol(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
            (Self::Array(a), Self::Array(b)) => {
                let (a, b) = (a.get(), b.get());
                for (a, b) in a.iter().zip(b.iter()) {
                    match a.compare_nested(b, depth.deeper())? {
                        Some(Ordering::Equal) => {}
                        decided => return Ok(decided),
                    }
                }
                Some(a.len().cmp(&b.len()))
            }
            (Self::Nil, Self::Nil) => Some(Ordering::Equal),
            (Self::Bool(a), Self::Bool(b)) if a == b => Some(Ordering::Equal),
            (Self::Foreign(_) | Self::Match(_) | Self::Hash(_), _)
            | (_, Self::Foreign(_) | Self::Match(_) | Self::Hash(_)) => {
                return refuse(format!("a comparison with {}", other.kind()));
            }
            _ => None,
        })
    }

    /// The order of two values where Ruby would raise an exception if there is none.
    pub(crate) fn order(&self, other: &Self) -> Eval<Ordering> {
        match self.compare(other)? {
            Some(order) => Ok(order),
            None => refuse(format!(
                "a comparison of {} with {}",
                self.kind(),
                other.kind()
            )),
        }
    }
}

/// An integer that a float represents exactly.
pub(crate) fn exact_float(number: i64) -> Eval<f64> {
    const EXACT: u64 = 1 << 53;
    if number.unsigned_abs() > EXACT {
        return refuse("a large integer beside a float");
    }
    #[expect(clippy::cast_precision_loss, reason = "it is exact up to here")]
    Ok(number as f64)
}
