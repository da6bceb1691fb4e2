//! `+ - * / % << >>`.
//!
//! Invariant: integers never wrap and never become floats; a float never becomes infinite.

use pcore::Value;
use syntax::ast::BinaryOp;

use super::time_arithmetic::times;
use super::{EvalContext, Evaluator};
use crate::code::{LoweredNode, NodeId};
use crate::error::{EvalResult, raise};
use crate::label;

/// Bits that an integer may be shifted by before Puppet would run out of memory for the message.
const SHIFT_MAX: i64 = 1 << 20;

/// Reason why an operation on two numbers has no result.
pub(super) enum ArithmeticError {
    /// The left operand does not support the operator.
    Left,
    /// The left operand supports the operator, but not with this right operand.
    Both,
    DivisionByZero,
    /// Result outside of 64 bits: true if positive, and its digits in hexadecimal.
    Overflow(bool, String),
    Text(String),
}

impl Evaluator<'_> {
    #[inline(never)]
    pub(super) fn arithmetic(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        operator: BinaryOp,
        left_id: NodeId,
        right_id: NodeId,
    ) -> EvalResult {
        let left = self.eval(cx, left_id)?;
        let right = self.eval(cx, right_id)?;
        if let (Value::Int(a), Value::Int(b)) = (&left, &right)
            && let Some(result) = quick(operator, *a, *b)
        {
            return Ok(Value::Int(result));
        }
        if self.looks_ahead
            && !keeps_elements(&left, operator, &right)
            && let Some(unknown) = self.unknown_of(&[&left, &right])
        {
            return Ok(unknown);
        }
        match (&left, operator) {
            (Value::Array(_), BinaryOp::Add | BinaryOp::Sub | BinaryOp::ShiftLeft)
            | (Value::Hash(_), BinaryOp::Add | BinaryOp::Sub)
            | (Value::Uri(_) | Value::Binary(_), BinaryOp::Add) => {
                let result = self.collect(cx, node.at, operator, &left, right)?;
                self.check_nesting(cx, node.at, &result)?;
                Ok(result)
            }
            (Value::Hash(_), BinaryOp::ShiftLeft) => {
                Err(self.not_applicable(cx, left_id, operator, &left))
            }
            _ => self.calculate(cx, node.at, operator, (left_id, left), (right_id, right)),
        }
    }

    fn calculate(
        &mut self,
        cx: EvalContext<'_>,
        at: u32,
        operator: BinaryOp,
        (left_id, left): (NodeId, Value),
        (right_id, right): (NodeId, Value),
    ) -> EvalResult {
        let left = self.numeric(cx, left_id, left)?;
        let right = self.numeric(cx, right_id, right)?;
        let refusal = match numbers(operator, &left, &right) {
            Ok(Value::Float(number)) if number.is_infinite() => {
                let at = cx.unit.node(left_id).at;
                let text = format!(
                    "The result of the {} expression is Infinity",
                    operator.text()
                );
                return Err(self.fail(cx, at, "RESULT_IS_INFINITY", text));
            }
            Ok(value) => return Ok(value),
            Err(refusal) => refusal,
        };
        match refusal {
            ArithmeticError::Left => Err(self.not_applicable(cx, left_id, operator, &left)),
            ArithmeticError::Both => {
                let text = format!(
                    "Operator '{}' is not applicable to {} when right side is {}.",
                    operator.text(),
                    label::with_article(&label::value_label(&left)),
                    label::with_article(&label::value_label(&right))
                );
                let at = cx.unit.node(left_id).at;
                Err(self.fail(cx, at, "OPERATOR_NOT_APPLICABLE_WHEN", text))
            }
            ArithmeticError::DivisionByZero => {
                let at = cx.unit.node(right_id).at;
                Err(self.fail(cx, at, "DIV_BY_ZERO", "Division by 0"))
            }
            ArithmeticError::Overflow(is_positive, digits) => {
                let label = label::with_capital_article(&label::operator_label(operator.text()));
                Err(self.overflow_error(cx, at, &label, is_positive, &digits))
            }
            ArithmeticError::Text(text) => raise(text),
        }
    }

    /// Error for a result outside of 64 bits.
    #[cold]
    pub(super) fn overflow_error(
        &self,
        cx: EvalContext<'_>,
        at: u32,
        label: &str,
        is_positive: bool,
        digits: &str,
    ) -> Box<crate::error::EvalUnwind> {
        let (end, sign) = if is_positive {
            ("max", '+')
        } else {
            ("min", '-')
        };
        let text = format!(
            "{label} resulted in a value outside of Puppet Integer {end} range, got '{sign}0x{digits}'"
        );
        self.fail(cx, at, "NUMERIC_OVERFLOW", text)
    }

    #[cold]
    fn not_applicable(
        &self,
        cx: EvalContext<'_>,
        left_id: NodeId,
        operator: BinaryOp,
        left: &Value,
    ) -> Box<crate::error::EvalUnwind> {
        let text = format!(
            "Operator '{}' is not applicable to {}.",
            operator.text(),
            label::with_article(&label::value_label(left))
        );
        self.fail(
            cx,
            cx.unit.node(left_id).at,
            "OPERATOR_NOT_APPLICABLE",
            text,
        )
    }
}

/// Fast path for common integer operations; `None` if the general path is needed.
#[inline]
fn quick(operator: BinaryOp, a: i64, b: i64) -> Option<i64> {
    match operator {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::Div if b > 0 => Some(a.div_euclid(b)),
        BinaryOp::Mod if b > 0 => Some(a.rem_euclid(b)),
        _ => None,
    }
}

fn numbers(operator: BinaryOp, left: &Value, right: &Value) -> Result<Value, ArithmeticError> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => integers(operator, *a, *b),
        (Value::Float(_), Value::Int(_) | Value::Float(_)) if operator == BinaryOp::Mod => {
            Err(ArithmeticError::Left)
        }
        (Value::Int(_), Value::Float(_)) if operator == BinaryOp::Mod => Err(ArithmeticError::Both),
        (Value::Int(a), Value::Float(b)) => match operator {
            // Ruby takes the integer part of a shift's width
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => integers(operator, *a, b.trunc() as i64),
            _ => floats(operator, *a as f64, *b),
        },
        (Value::Float(a), Value::Int(b)) => floats(operator, *a, *b as f64),
        (Value::Float(a), Value::Float(b)) => floats(operator, *a, *b),
        _ => times(operator, left, right),
    }
}

pub(super) fn integers(operator: BinaryOp, a: i64, b: i64) -> Result<Value, ArithmeticError> {
    let (wide_a, wide_b) = (i128::from(a), i128::from(b));
    let wide = match operator {
        BinaryOp::Add => wide_a + wide_b,
        BinaryOp::Sub => wide_a - wide_b,
        BinaryOp::Mul => wide_a * wide_b,
        BinaryOp::Div | BinaryOp::Mod if b == 0 => return Err(ArithmeticError::DivisionByZero),
        BinaryOp::Div => floor_division(wide_a, wide_b),
        BinaryOp::Mod => wide_a - wide_b * floor_division(wide_a, wide_b),
        BinaryOp::ShiftLeft => return shift(a, b),
        BinaryOp::ShiftRight => return shift(a, b.saturating_neg()),
        _ => return Err(ArithmeticError::Left),
    };
    match i64::try_from(wide) {
        Ok(result) => Ok(Value::Int(result)),
        Err(_) => Err(ArithmeticError::Overflow(
            wide > 0,
            format!("{:x}", wide.unsigned_abs()),
        )),
    }
}

pub(super) fn floor_division(a: i128, b: i128) -> i128 {
    let quotient = a / b;
    if a % b != 0 && (a < 0) != (b < 0) {
        quotient - 1
    } else {
        quotient
    }
}

fn shift(a: i64, left: i64) -> Result<Value, ArithmeticError> {
    if left <= 0 {
        let right = u32::try_from(left.unsigned_abs())
            .unwrap_or(u32::MAX)
            .min(63);
        return Ok(Value::Int(a >> right));
    }
    if a == 0 {
        return Ok(Value::Int(0));
    }
    if left > SHIFT_MAX {
        return Err(ArithmeticError::Text("shift width too big".to_owned()));
    }
    if left < 64
        && let Ok(result) = i64::try_from(i128::from(a) << left)
    {
        return Ok(Value::Int(result));
    }
    let digits = u128::from(a.unsigned_abs()) << (left % 4);
    let zeros = usize::try_from(left / 4).unwrap_or_default();
    Err(ArithmeticError::Overflow(
        a > 0,
        format!("{digits:x}{}", "0".repeat(zeros)),
    ))
}

fn floats(operator: BinaryOp, a: f64, b: f64) -> Result<Value, ArithmeticError> {
    Ok(Value::Float(match operator {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
        _ => return Err(ArithmeticError::Left),
    }))
}

/// True if the result contains the elements of the operands unchanged.
fn keeps_elements(left: &Value, operator: BinaryOp, right: &Value) -> bool {
    match (left, operator) {
        (Value::Array(_), BinaryOp::ShiftLeft) => true,
        (Value::Array(_) | Value::Hash(_), BinaryOp::Add) => !right.is_unknown(),
        _ => false,
    }
}
