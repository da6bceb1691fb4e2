//! `== != < <= > >=`, `in`, and the match of case options and selectors.
//!
//! Invariant: strings compare without ASCII case, patterns with case.

use std::cmp::Ordering;
use std::rc::Rc;

use pcore::{Regexp, SemVer, Value};
use syntax::ast::BinaryOp;

use super::{EvalContext, Evaluator};
use crate::code::{LoweredNode, NodeId};
use crate::error::{EvalResult, raise};
use crate::label;
use crate::regex_matches::RegexMatch;

impl Evaluator<'_> {
    #[inline(never)]
    pub(super) fn comparison(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        operator: BinaryOp,
        left: NodeId,
        right: NodeId,
    ) -> EvalResult {
        let left = self.eval(cx, left)?;
        let right = self.eval(cx, right)?;
        if let Some(unknown) = self.unknown_of(&[&left, &right]) {
            return Ok(unknown);
        }
        let result = match operator {
            BinaryOp::Eq => operands_equal(&left, &right),
            BinaryOp::Ne => !operands_equal(&left, &right),
            _ => {
                if let Value::Type(ty) = &left {
                    types(operator, ty, &right)
                } else {
                    match compare(&left, &right) {
                        Ok(ordering) => holds(operator, ordering),
                        Err(detail) => {
                            return Err(
                                self.incomparable(cx, node, operator, &left, &right, &detail)
                            );
                        }
                    }
                }
            }
        };
        Ok(Value::Bool(result))
    }

    #[cold]
    fn incomparable(
        &self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        operator: BinaryOp,
        left: &Value,
        right: &Value,
        detail: &str,
    ) -> Box<crate::error::EvalUnwind> {
        let text = format!(
            "Comparison of: {} {} {}, is not possible. Caused by '{detail}'.",
            label::value_label(left),
            operator.text(),
            label::value_label(right)
        );
        self.fail(cx, node.at, "COMPARISON_NOT_POSSIBLE", text)
    }

    #[inline(never)]
    pub(super) fn in_operator(
        &mut self,
        cx: EvalContext<'_>,
        left: NodeId,
        right: NodeId,
    ) -> EvalResult {
        let left = self.eval(cx, left)?;
        let right = self.eval(cx, right)?;
        if let Some(unknown) = self.unknown_of(&[&left, &right]) {
            return Ok(unknown);
        }
        self.includes(&right, &left).map(Value::Bool)
    }

    fn includes(&mut self, container: &Value, sought: &Value) -> EvalResult<bool> {
        match container {
            Value::Str(text) => match sought {
                Value::Str(part) => Ok(text.to_lowercase().contains(&part.to_lowercase())),
                Value::Regexp(pattern) => self.search(pattern, text),
                _ => Ok(false),
            },
            Value::Array(elements) => {
                self.charge_steps(elements.len())?;
                self.list_includes(elements.iter(), sought)
            }
            Value::Hash(entries) => {
                self.charge_steps(entries.len())?;
                self.list_includes(entries.keys(), sought)
            }
            Value::Binary(bytes) => Ok(binary_includes(bytes.bytes(), sought)),
            Value::SemVerRange(range) => Ok(match sought {
                Value::SemVer(version) => range.includes(version),
                Value::Str(text) => SemVer::parse(text).is_ok_and(|it| range.includes(&it)),
                _ => false,
            }),
            _ => Ok(false),
        }
    }

    fn list_includes<'a>(
        &mut self,
        mut elements: impl Iterator<Item = &'a Value>,
        sought: &Value,
    ) -> EvalResult<bool> {
        match sought {
            Value::Regexp(pattern) => {
                for element in elements {
                    if let Value::Str(text) = element
                        && self.search(pattern, text)?
                    {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Value::Str(_) | Value::SemVer(_) => {
                for element in elements {
                    if self.matches_option(sought, element)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Value::Type(ty) => Ok(elements.any(|element| ty.is_instance(element))),
            _ => Ok(elements.any(|element| equals(element, sought))),
        }
    }

    /// True if a value matches the option of a case or a selector.
    pub(crate) fn matches_option(&mut self, value: &Value, option: &Value) -> EvalResult<bool> {
        match option {
            Value::Regexp(pattern) => match value {
                Value::Str(text) => self.search(pattern, text),
                _ => Ok(false),
            },
            Value::Default => Ok(true),
            Value::Type(ty) => Ok(ty.is_instance(value)),
            Value::SemVer(version) => Ok(match value {
                Value::SemVer(other) => version == other,
                Value::Str(text) => SemVer::parse(text).is_ok_and(|it| it == **version),
                _ => false,
            }),
            Value::SemVerRange(range) => Ok(match value {
                Value::SemVer(version) => range.includes(version),
                Value::Str(text) => SemVer::parse(text).is_ok_and(|it| range.includes(&it)),
                _ => false,
            }),
            Value::Array(options) => match value {
                Value::Array(values) if values.len() == options.len() => {
                    self.stack_check()?;
                    for (value, option) in values.iter().zip(options.iter()) {
                        if !self.matches_option(value, option)? {
                            return Ok(false);
                        }
                    }
                    Ok(true)
                }
                _ => Ok(false),
            },
            Value::Hash(options) => match value {
                Value::Hash(values) => {
                    self.stack_check()?;
                    for (key, option) in options.iter() {
                        let value = values.get(key).cloned().unwrap_or_default();
                        if !self.matches_option(&value, option)? {
                            return Ok(false);
                        }
                    }
                    Ok(true)
                }
                _ => Ok(false),
            },
            _ => Ok(equals(value, option)),
        }
    }

    /// Searches and stores the match for `$0`, `$1` and so on. A failed search keeps the earlier
    /// match.
    pub(crate) fn search(&mut self, pattern: &Regexp, text: &str) -> EvalResult<bool> {
        let regex = match pattern.regex() {
            Ok(regex) => regex,
            Err(error) => return raise(error.to_string()),
        };
        match regex.captures(text) {
            Ok(Some(found)) => {
                self.charge_bytes(text.len())?;
                self.matches = Some(Rc::new(RegexMatch::new(&found)));
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) => raise(error.to_string()),
        }
    }

    /// The compiled form of a pattern, cached.
    pub(crate) fn regex(&self, source: &str) -> EvalResult<ruby_regex::Regex> {
        self.shared
            .patterns
            .get(source, ruby_regex::RegexFlags::default())
            .or_else(|error| raise(error.to_string()))
    }

    /// Charges the steps of work that evaluates no expression.
    pub fn charge_steps(&self, steps: usize) -> EvalResult<()> {
        self.budget
            .spend_steps(steps as u64)
            .map_err(|exhausted| self.exhausted_error(&exhausted))
    }

    /// Checks the stack, for functions that recurse into values without evaluating expressions.
    pub fn stack_check(&self) -> EvalResult<()> {
        self.stack
            .check()
            .map_err(|exhausted| self.exhausted_error(&exhausted))
    }
}

/// `==` between two operands: types are equal if they accept the same values, such as an alias and
/// its type. Inside of lists and in `case`, types are equal only if they are identical.
fn operands_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Type(left), Value::Type(right)) => same_type(left, right),
        _ => equals(left, right),
    }
}

fn same_type(left: &pcore::Type, right: &pcore::Type) -> bool {
    left == right || (left.is_assignable(right) && right.is_assignable(left))
}

/// The language's `==`, without the special treatment of types.
pub(crate) fn equals(left: &Value, right: &Value) -> bool {
    left.equals(right)
}

fn holds(operator: BinaryOp, ordering: Ordering) -> bool {
    match operator {
        BinaryOp::Lt => ordering.is_lt(),
        BinaryOp::Le => ordering.is_le(),
        BinaryOp::Gt => ordering.is_gt(),
        _ => ordering.is_ge(),
    }
}

fn types(operator: BinaryOp, left: &pcore::Type, right: &Value) -> bool {
    let Value::Type(right) = right else {
        return false;
    };
    match operator {
        BinaryOp::Lt => right.is_assignable(left) && !same_type(left, right),
        BinaryOp::Le => right.is_assignable(left),
        BinaryOp::Gt => left.is_assignable(right) && !same_type(left, right),
        _ => left.is_assignable(right),
    }
}

/// Compares two values; the error is the reason for which they cannot be compared.
pub(crate) fn compare(left: &Value, right: &Value) -> Result<Ordering, String> {
    let refuse = |text: &str| Err(text.to_owned());
    match left {
        Value::Str(a) => match right {
            Value::Str(b) => Ok(casecmp(a, b)),
            _ => refuse("A String is not comparable to a non String"),
        },
        Value::Int(_) | Value::Float(_) => match right {
            Value::Int(_) | Value::Float(_) => Ok(numbers(left, right)),
            Value::Timespan(_) | Value::Timestamp(_) => Ok(time(right, left)?.reverse()),
            _ => refuse("A Numeric is not comparable to non Numeric"),
        },
        Value::Default => match right {
            Value::Default => Ok(Ordering::Equal),
            _ => refuse("Symbol not comparable to non Symbol"),
        },
        Value::Timespan(a) => match right {
            Value::Timespan(b) => Ok(a.cmp(b)),
            Value::Int(_) | Value::Float(_) => time(left, right),
            _ => refuse("Timespans are only comparable to Timespans, Integers, and Floats"),
        },
        Value::Timestamp(a) => match right {
            Value::Timestamp(b) => Ok(a.cmp(b)),
            Value::Int(_) | Value::Float(_) => time(left, right),
            _ => refuse("Timestamps are only comparable to Timestamps, Integers, and Floats"),
        },
        Value::SemVer(a) => match right {
            Value::SemVer(b) => Ok(a.compare(b)),
            _ => refuse("Versions not comparable to non Versions"),
        },
        _ => refuse("Only Strings, Numbers, Timespans, Timestamps, and Versions are comparable"),
    }
}

/// Ruby's `casecmp`: ASCII letters without case, other characters by their bytes.
pub(crate) fn casecmp(a: &str, b: &str) -> Ordering {
    let lower = |text: &str| {
        text.bytes()
            .map(|it| it.to_ascii_lowercase())
            .collect::<Vec<_>>()
    };
    lower(a).cmp(&lower(b))
}

fn numbers(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        _ => float(left)
            .partial_cmp(&float(right))
            .unwrap_or(Ordering::Equal),
    }
}

fn float(value: &Value) -> f64 {
    match value {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        _ => f64::NAN,
    }
}

/// Compares a time with a number of seconds.
fn time(time: &Value, number: &Value) -> Result<Ordering, String> {
    let nanos = match time {
        Value::Timespan(length) => length.nanos(),
        Value::Timestamp(time) => time.nanos(),
        _ => return Err("not a time".to_owned()),
    };
    Ok(match number {
        Value::Int(number) => nanos.div_euclid(1_000_000_000).cmp(&i128::from(*number)),
        other => (nanos as f64 / 1e9)
            .partial_cmp(&float(other))
            .unwrap_or(Ordering::Equal),
    })
}

fn binary_includes(bytes: &[u8], sought: &Value) -> bool {
    let part = match sought {
        Value::Binary(part) => part.bytes(),
        Value::Str(part) => part.as_bytes(),
        Value::Int(byte) => return bytes.iter().any(|it| i64::from(*it) == *byte),
        _ => return false,
    };
    part.is_empty() || bytes.windows(part.len()).any(|window| window == part)
}
