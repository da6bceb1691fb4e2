//! Methods of numbers and ranges.

use std::cmp::Ordering;

use super::Interpreter;
use crate::syntax::Block;
use crate::value::{Eval, RubyValue, exact_float, refuse};

/// True if an order fits an operator of comparison.
pub(super) fn is_ordered(operator: &str, order: Ordering) -> bool {
    match operator {
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    }
}

impl<'t> Interpreter<'t, '_> {
    pub(super) fn call_number(
        &mut self,
        receiver: &RubyValue,
        name: &'static str,
        arguments: &[RubyValue],
    ) -> Eval<Option<RubyValue>> {
        Ok(Some(match (name, receiver, arguments) {
            ("<" | "<=" | ">" | ">=", _, [other @ (RubyValue::Int(_) | RubyValue::Float(_))]) => {
                RubyValue::Bool(is_ordered(name, receiver.order(other)?))
            }
            (_, RubyValue::Int(number), [RubyValue::Int(other)]) => {
                match integer_operation(name, *number, *other) {
                    Some(Some(result)) => RubyValue::Int(result),
                    Some(None) => return refuse(format!("{name} of these integers")),
                    None => return Ok(None),
                }
            }
            (_, RubyValue::Float(number), [RubyValue::Float(other)]) => {
                match float_operation(name, *number, *other) {
                    Some(result) => RubyValue::Float(result),
                    None => return Ok(None),
                }
            }
            (_, RubyValue::Int(number), [RubyValue::Float(other)]) => {
                match float_operation(name, exact_float(*number)?, *other) {
                    Some(result) => RubyValue::Float(result),
                    None => return Ok(None),
                }
            }
            (_, RubyValue::Float(number), [RubyValue::Int(other)]) => {
                match float_operation(name, *number, exact_float(*other)?) {
                    Some(result) => RubyValue::Float(result),
                    None => return Ok(None),
                }
            }
            (_, RubyValue::Int(number), []) => return integer_method(name, *number).map(Some),
            ("to_f", RubyValue::Float(_), []) => receiver.clone(),
            ("abs", RubyValue::Float(number), []) => RubyValue::Float(number.abs()),
            ("-@", RubyValue::Float(number), []) => RubyValue::Float(-number),
            ("to_i" | "truncate" | "floor" | "ceil", RubyValue::Float(number), []) => {
                let whole = match name {
                    "floor" => number.floor(),
                    "ceil" => number.ceil(),
                    _ => number.trunc(),
                };
                to_integer(whole)?
            }
            _ => return Ok(None),
        }))
    }

    /// `times`, `upto` and `downto`.
    pub(super) fn count_with_block(
        &mut self,
        number: i64,
        name: &str,
        arguments: &[RubyValue],
        block: &'t Block,
    ) -> Eval<Option<RubyValue>> {
        match (name, arguments) {
            ("times", []) => {
                for index in 0..number {
                    self.yield_value(block, &RubyValue::Int(index))?;
                }
            }
            ("upto", [RubyValue::Int(end)]) => {
                for index in number..=*end {
                    self.yield_value(block, &RubyValue::Int(index))?;
                }
            }
            ("downto", [RubyValue::Int(end)]) => {
                for index in (*end..=number).rev() {
                    self.yield_value(block, &RubyValue::Int(index))?;
                }
            }
            _ => return Ok(None),
        }
        Ok(Some(RubyValue::Int(number)))
    }

    pub(super) fn call_range(
        &mut self,
        range: &RubyValue,
        name: &'static str,
        arguments: &[RubyValue],
    ) -> Eval<Option<RubyValue>> {
        match (name, arguments) {
            ("to_a", []) => {
                let items = self.items(range)?;
                Ok(items.map(RubyValue::array))
            }
            ("include?" | "member?" | "===", [subject @ RubyValue::Int(_)]) => {
                Ok(Some(RubyValue::Bool(self.case_matches(range, subject)?)))
            }
            _ => Ok(None),
        }
    }
}

/// The result of an operator, `Some(None)` if it is no integer of 64 bits.
fn integer_operation(name: &str, a: i64, b: i64) -> Option<Option<i64>> {
    Some(match name {
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        // both round towards negative infinity
        "/" => a.checked_div_euclid(b).and_then(|quotient| {
            let remainder = a.checked_rem_euclid(b)?;
            if remainder != 0 && b < 0 {
                quotient.checked_sub(1)
            } else {
                Some(quotient)
            }
        }),
        "%" => a.checked_rem_euclid(b).map(|remainder| {
            if remainder != 0 && b < 0 {
                remainder + b
            } else {
                remainder
            }
        }),
        "<<" => match u32::try_from(b) {
            Ok(bits) if bits < i64::BITS => a
                .checked_mul(1_i64.checked_shl(bits).unwrap_or_default())
                .filter(|_| bits < i64::BITS - 1),
            _ => None,
        },
        "&" => Some(a & b),
        "|" => Some(a | b),
        _ => return None,
    })
}

fn float_operation(name: &str, a: f64, b: f64) -> Option<f64> {
    Some(match name {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        _ => return None,
    })
}

fn integer_method(name: &str, number: i64) -> Eval {
    let checked = |result: Option<i64>| match result {
        Some(result) => Ok(RubyValue::Int(result)),
        None => refuse("a large integer"),
    };
    match name {
        "to_i" | "floor" | "ceil" | "round" | "truncate" => Ok(RubyValue::Int(number)),
        "to_f" => exact_float(number).map(RubyValue::Float),
        "abs" => checked(number.checked_abs()),
        "-@" => checked(number.checked_neg()),
        "succ" | "next" => checked(number.checked_add(1)),
        "pred" => checked(number.checked_sub(1)),
        "zero?" => Ok(RubyValue::Bool(number == 0)),
        "even?" => Ok(RubyValue::Bool(number % 2 == 0)),
        "odd?" => Ok(RubyValue::Bool(number % 2 != 0)),
        "positive?" => Ok(RubyValue::Bool(number > 0)),
        "negative?" => Ok(RubyValue::Bool(number < 0)),
        _ => refuse(format!("the method {name} of an integer")),
    }
}

/// A whole float as an integer.
fn to_integer(whole: f64) -> Eval {
    const LIMIT: f64 = 9_007_199_254_740_992.0;
    if !(-LIMIT..=LIMIT).contains(&whole) {
        return refuse("a large float as an integer");
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is whole and small enough"
    )]
    Ok(RubyValue::Int(whole as i64))
}
