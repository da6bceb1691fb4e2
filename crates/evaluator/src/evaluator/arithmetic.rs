//! `+ - * / % << >>`.
//!
//! The rule that must hold: integers never wrap and never become floats; a float never becomes infinite.

use pcore::{Binary, Hash, Timespan, Timestamp, Value};
use syntax::ast::BinaryOp;

use super::{Cx, Evaluator};
use crate::code::{Node, NodeId};
use crate::error::{Eval, raise};
use crate::label;

/// Bits that an integer may be shifted by before Puppet would run out of memory for the message.
const SHIFT_MAX: i64 = 1 << 20;

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// Why two numbers have no result.
enum Refusal {
    /// The operator is not there for the left value.
    Left,
    /// It is there, but not with such a right value.
    Both,
    DivisionByZero,
    /// Outside of 64 bits: whether it is positive, and its digits in hexadecimal.
    Overflow(bool, String),
    Text(String),
}

impl Evaluator {
    #[inline(never)]
    pub(super) fn arithmetic(
        &mut self,
        cx: Cx<'_>,
        node: &Node,
        operator: BinaryOp,
        left_id: NodeId,
        right_id: NodeId,
    ) -> Eval {
        let left = self.eval(cx, left_id)?;
        let right = self.eval(cx, right_id)?;
        if let (Value::Int(a), Value::Int(b)) = (&left, &right)
            && let Some(result) = quick(operator, *a, *b)
        {
            return Ok(Value::Int(result));
        }
        match (&left, operator) {
            (Value::Array(_), BinaryOp::Add | BinaryOp::Sub | BinaryOp::ShiftLeft)
            | (Value::Hash(_), BinaryOp::Add | BinaryOp::Sub)
            | (Value::Uri(_) | Value::Binary(_), BinaryOp::Add) => {
                let result = self.collect(cx, node.at, operator, &left, right)?;
                self.check_nesting(cx, node.at, std::slice::from_ref(&result))?;
                Ok(result)
            }
            (Value::Hash(_), BinaryOp::ShiftLeft) => {
                Err(self.not_applicable(cx, left_id, operator, &left))
            }
            _ => self.calculate(cx, node.at, operator, (left_id, left), (right_id, right)),
        }
    }

    fn collect(
        &mut self,
        cx: Cx<'_>,
        at: u32,
        operator: BinaryOp,
        left: &Value,
        right: Value,
    ) -> Eval {
        match (left, operator) {
            (Value::Array(elements), BinaryOp::ShiftLeft) => {
                self.charge_list(cx, at, elements.len() + 1)?;
                let mut joined = Vec::with_capacity(elements.len() + 1);
                joined.extend_from_slice(elements);
                joined.push(right);
                Ok(Value::array(joined))
            }
            (Value::Array(elements), BinaryOp::Add) => {
                let more = list_of(right);
                self.charge_list(cx, at, elements.len() + more.len())?;
                let mut joined = Vec::with_capacity(elements.len() + more.len());
                joined.extend_from_slice(elements);
                joined.extend(more);
                Ok(Value::array(joined))
            }
            (Value::Array(elements), _) => {
                let gone = list_of(right);
                self.charge_list(cx, at, elements.len() + gone.len())?;
                let kept = without(elements, &gone);
                Ok(Value::array(kept))
            }
            (Value::Hash(entries), BinaryOp::Add) => {
                let more = merged(right)?;
                self.charge_list(cx, at, (entries.len() + more.len()) * 2)?;
                let mut joined = Hash::clone(entries);
                joined.extend(more);
                Ok(Value::hash(joined))
            }
            (Value::Hash(entries), _) => {
                self.charge_list(cx, at, entries.len() * 2)?;
                let mut kept = Hash::clone(entries);
                match right {
                    Value::Array(keys) => keys.iter().for_each(|key| drop(kept.remove(key))),
                    Value::Hash(other) => other.keys().for_each(|key| drop(kept.remove(key))),
                    key => drop(kept.remove(&key)),
                }
                Ok(Value::hash(kept))
            }
            (Value::Uri(base), _) => match &right {
                Value::Uri(other) => merged_uri(base, &other.to_string()),
                Value::Str(text) => merged_uri(base, text),
                _ => raise("An URI can only be merged with an URI or String"),
            },
            (Value::Binary(bytes), _) => match &right {
                Value::Binary(more) => {
                    self.charge_text(cx, at, bytes.bytes().len() + more.bytes().len())?;
                    let joined = [bytes.bytes(), more.bytes()].concat();
                    Ok(Value::Binary(Binary::new(joined)))
                }
                _ => raise("Can only append Binary to a Binary"),
            },
            _ => Ok(Value::Undef),
        }
    }

    fn calculate(
        &mut self,
        cx: Cx<'_>,
        at: u32,
        operator: BinaryOp,
        (left_id, left): (NodeId, Value),
        (right_id, right): (NodeId, Value),
    ) -> Eval {
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
            Refusal::Left => Err(self.not_applicable(cx, left_id, operator, &left)),
            Refusal::Both => {
                let text = format!(
                    "Operator '{}' is not applicable to {} when right side is {}.",
                    operator.text(),
                    label::a_an(&label::of_value(&left)),
                    label::a_an(&label::of_value(&right))
                );
                let at = cx.unit.node(left_id).at;
                Err(self.fail(cx, at, "OPERATOR_NOT_APPLICABLE_WHEN", text))
            }
            Refusal::DivisionByZero => {
                let at = cx.unit.node(right_id).at;
                Err(self.fail(cx, at, "DIV_BY_ZERO", "Division by 0"))
            }
            Refusal::Overflow(is_positive, digits) => {
                let label = label::a_an_uc(label::of_operator(operator));
                Err(self.overflow(cx, at, &label, is_positive, &digits))
            }
            Refusal::Text(text) => raise(text),
        }
    }

    /// A result outside of 64 bits.
    #[cold]
    pub(super) fn overflow(
        &self,
        cx: Cx<'_>,
        at: u32,
        label: &str,
        is_positive: bool,
        digits: &str,
    ) -> Box<crate::error::Unwind> {
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
        cx: Cx<'_>,
        left_id: NodeId,
        operator: BinaryOp,
        left: &Value,
    ) -> Box<crate::error::Unwind> {
        let text = format!(
            "Operator '{}' is not applicable to {}.",
            operator.text(),
            label::a_an(&label::of_value(left))
        );
        self.fail(
            cx,
            cx.unit.node(left_id).at,
            "OPERATOR_NOT_APPLICABLE",
            text,
        )
    }
}

/// What most programs calculate; `None` goes the long way.
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

/// The right side of a list's `+` and `-` as a list.
fn list_of(value: Value) -> Vec<Value> {
    match value {
        Value::Array(elements) => elements.to_vec(),
        Value::Hash(entries) => pairs(&entries),
        other => vec![other],
    }
}

/// The entries of a hash as pairs.
pub(crate) fn pairs(entries: &Hash) -> Vec<Value> {
    entries
        .iter()
        .map(|(key, value)| Value::array(vec![key.clone(), value.clone()]))
        .collect()
}

/// A reference read from a URI.
fn merged_uri(base: &pcore::Uri, reference: &str) -> Eval {
    match crate::uri::merge(&base.to_string(), reference) {
        Ok(uri) => Ok(Value::Uri(std::sync::Arc::new(uri))),
        Err(error) => raise(error.to_string()),
    }
}

/// Ruby's `Array#delete` for each: by `==`, for which `1` is `1.0`.
fn without(elements: &[Value], gone: &[Value]) -> Vec<Value> {
    elements
        .iter()
        .filter(|element| !gone.iter().any(|it| crate::ruby::equal(element, it)))
        .cloned()
        .collect()
}

/// What is merged into a hash.
fn merged(value: Value) -> Eval<Hash> {
    match value {
        Value::Hash(entries) => Ok(Hash::clone(&entries)),
        Value::Array(elements) => {
            let are_pairs =
                !elements.is_empty() && elements.iter().all(|it| matches!(it, Value::Array(_)));
            if are_pairs {
                return pairs_to_hash(&elements);
            }
            if elements.len() % 2 != 0 {
                return raise("odd number of arguments for Hash");
            }
            Ok(elements
                .chunks_exact(2)
                .map(|pair| (pair[0].clone(), pair[1].clone()))
                .collect())
        }
        _ => raise("Can only append Array or Hash to a Hash"),
    }
}

fn pairs_to_hash(elements: &[Value]) -> Eval<Hash> {
    let mut hash = Hash::with_capacity(elements.len());
    for element in elements {
        let pair = element.as_array().unwrap_or_default();
        match pair {
            [key] => hash.insert(key.clone(), Value::Undef),
            [key, value] => hash.insert(key.clone(), value.clone()),
            _ => {
                return raise(format!(
                    "invalid number of elements ({} for 1..2)",
                    pair.len()
                ));
            }
        };
    }
    Ok(hash)
}

fn numbers(operator: BinaryOp, left: &Value, right: &Value) -> Result<Value, Refusal> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => integers(operator, *a, *b),
        (Value::Float(_), Value::Int(_) | Value::Float(_)) if operator == BinaryOp::Mod => {
            Err(Refusal::Left)
        }
        (Value::Int(_), Value::Float(_)) if operator == BinaryOp::Mod => Err(Refusal::Both),
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

fn integers(operator: BinaryOp, a: i64, b: i64) -> Result<Value, Refusal> {
    let (wide_a, wide_b) = (i128::from(a), i128::from(b));
    let wide = match operator {
        BinaryOp::Add => wide_a + wide_b,
        BinaryOp::Sub => wide_a - wide_b,
        BinaryOp::Mul => wide_a * wide_b,
        BinaryOp::Div | BinaryOp::Mod if b == 0 => return Err(Refusal::DivisionByZero),
        BinaryOp::Div => floor_division(wide_a, wide_b),
        BinaryOp::Mod => wide_a - wide_b * floor_division(wide_a, wide_b),
        BinaryOp::ShiftLeft => return shift(a, b),
        BinaryOp::ShiftRight => return shift(a, b.saturating_neg()),
        _ => return Err(Refusal::Left),
    };
    match i64::try_from(wide) {
        Ok(result) => Ok(Value::Int(result)),
        Err(_) => Err(Refusal::Overflow(
            wide > 0,
            format!("{:x}", wide.unsigned_abs()),
        )),
    }
}

fn floor_division(a: i128, b: i128) -> i128 {
    let quotient = a / b;
    if a % b != 0 && (a < 0) != (b < 0) {
        quotient - 1
    } else {
        quotient
    }
}

fn shift(a: i64, left: i64) -> Result<Value, Refusal> {
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
        return Err(Refusal::Text("shift width too big".to_owned()));
    }
    if left < 64
        && let Ok(result) = i64::try_from(i128::from(a) << left)
    {
        return Ok(Value::Int(result));
    }
    let digits = u128::from(a.unsigned_abs()) << (left % 4);
    let zeros = usize::try_from(left / 4).unwrap_or_default();
    Err(Refusal::Overflow(
        a > 0,
        format!("{digits:x}{}", "0".repeat(zeros)),
    ))
}

fn floats(operator: BinaryOp, a: f64, b: f64) -> Result<Value, Refusal> {
    Ok(Value::Float(match operator {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
        _ => return Err(Refusal::Left),
    }))
}

/// At least one side is a time.
fn times(operator: BinaryOp, left: &Value, right: &Value) -> Result<Value, Refusal> {
    let is_time = |value: &Value| matches!(value, Value::Timespan(_) | Value::Timestamp(_));
    if is_time(left) {
        return time_first(operator, left, right);
    }
    match (operator, right) {
        (BinaryOp::Add, _) | (BinaryOp::Mul, Value::Timespan(_)) => {
            time_first(operator, right, left)
        }
        (BinaryOp::Sub, Value::Timespan(_)) => match seconds(left).and_then(span) {
            Some(span) => time_first(operator, &span, right),
            None => Err(Refusal::Both),
        },
        _ => Err(Refusal::Both),
    }
}

fn time_first(operator: BinaryOp, left: &Value, right: &Value) -> Result<Value, Refusal> {
    match left {
        Value::Timestamp(time) => timestamp(operator, *time, right),
        Value::Timespan(length) => timespan(operator, *length, right),
        _ => Err(Refusal::Left),
    }
}

fn timestamp(operator: BinaryOp, time: Timestamp, right: &Value) -> Result<Value, Refusal> {
    let nanos = time.nanos();
    let result = match (operator, right) {
        (BinaryOp::Sub, Value::Timestamp(other)) => span(nanos - other.nanos()),
        (BinaryOp::Add, Value::Timespan(length)) => instant(nanos + length.nanos()),
        (BinaryOp::Sub, Value::Timespan(length)) => instant(nanos - length.nanos()),
        (BinaryOp::Add, other) => match seconds(other) {
            Some(more) => instant(nanos + more),
            None => return refused(right, "cannot be added to a Timestamp"),
        },
        (BinaryOp::Sub, other) => match seconds(other) {
            Some(less) => instant(nanos - less),
            None => return refused(right, "cannot be subtracted from a Timestamp"),
        },
        _ => return Err(Refusal::Left),
    };
    result.ok_or_else(too_far)
}

fn timespan(operator: BinaryOp, length: Timespan, right: &Value) -> Result<Value, Refusal> {
    let nanos = length.nanos();
    let result = match (operator, right) {
        (BinaryOp::Add, Value::Timestamp(time)) => instant(nanos + time.nanos()),
        (BinaryOp::Add, Value::Timespan(other)) => span(nanos + other.nanos()),
        (BinaryOp::Sub, Value::Timespan(other)) => span(nanos - other.nanos()),
        (BinaryOp::Div, Value::Timespan(other)) => {
            return Ok(Value::Float(nanos as f64 / other.nanos() as f64));
        }
        (BinaryOp::Add, other) => match seconds(other) {
            Some(more) => span(nanos + more),
            None => return refused(right, "cannot be added to a Timespan"),
        },
        (BinaryOp::Sub, other) => match seconds(other) {
            Some(less) => span(nanos - less),
            None => return refused(right, "cannot be subtracted from a Timespan"),
        },
        (BinaryOp::Mul, Value::Int(factor)) => span(nanos.saturating_mul(i128::from(*factor))),
        (BinaryOp::Mul, Value::Float(factor)) => span((nanos as f64 * factor) as i128),
        (BinaryOp::Mul, other) => {
            let what = label::a_an(&label::of_value(other));
            let text = format!("A Timestamp cannot be multiplied by {what}");
            return Err(Refusal::Text(text));
        }
        (BinaryOp::Div, Value::Int(0)) => return Err(Refusal::DivisionByZero),
        (BinaryOp::Div, Value::Int(divisor)) => span(floor_division(nanos, i128::from(*divisor))),
        (BinaryOp::Div, Value::Float(0.0)) => return Err(Refusal::DivisionByZero),
        (BinaryOp::Div, Value::Float(divisor)) => span((nanos as f64 / divisor).floor() as i128),
        (BinaryOp::Div, other) => {
            let what = label::a_an(&label::of_value(other));
            let text = format!("A Timespan cannot be divided by {what}");
            return Err(Refusal::Text(text));
        }
        (BinaryOp::Mod, Value::Int(divisor)) => {
            let whole = i64::try_from(floor_division(nanos, NANOS_PER_SECOND));
            return integers(operator, whole.unwrap_or(i64::MAX), *divisor);
        }
        _ => return Err(Refusal::Left),
    };
    result.ok_or_else(too_far)
}

fn refused(right: &Value, what: &str) -> Result<Value, Refusal> {
    let subject = label::a_an_uc(&label::of_value(right));
    Err(Refusal::Text(format!("{subject} {what}")))
}

fn too_far() -> Refusal {
    Refusal::Text("the time is too far away".to_owned())
}

fn span(nanos: i128) -> Option<Value> {
    Timespan::from_nanos(nanos).map(Value::Timespan)
}

fn instant(nanos: i128) -> Option<Value> {
    Timestamp::from_nanos(nanos).map(Value::Timestamp)
}

/// A number of seconds in nanoseconds.
fn seconds(value: &Value) -> Option<i128> {
    match value {
        Value::Int(seconds) => Some(i128::from(*seconds) * NANOS_PER_SECOND),
        Value::Float(seconds) => Some((seconds * NANOS_PER_SECOND as f64) as i128),
        _ => None,
    }
}
