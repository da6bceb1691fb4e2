//! Small operators: `=~`, `!~`, `and`, `or`, `!`, unary `-` and `*`.

use pcore::Value;

use super::collecting::pairs;
use super::{EvalContext, Evaluator};
use crate::code::{LoweredNode, NodeId};
use crate::error::{EvalResult, EvalUnwind};
use crate::label;

impl Evaluator<'_> {
    #[inline(never)]
    pub(super) fn match_operator(
        &mut self,
        cx: EvalContext<'_>,
        negated: bool,
        left_id: NodeId,
        right_id: NodeId,
    ) -> EvalResult {
        let left = self.eval(cx, left_id)?;
        let right = self.eval(cx, right_id)?;
        if let Some(unknown) = self.unknown_of(&[&left, &right]) {
            // the match variables `$0`, `$1` and so on are unknown from here on
            self.depends_on(&[&left, &right]);
            return Ok(unknown);
        }
        let pattern = match &right {
            Value::Type(ty) => return Ok(Value::Bool(ty.is_instance(&left) != negated)),
            Value::SemVerRange(_) => {
                let found = self.matches_option(&left, &right)?;
                return Ok(Value::Bool(found != negated));
            }
            Value::Regexp(pattern) => pattern.clone(),
            Value::Str(source) => {
                if let Err(unwind) = self.regex(source) {
                    return Err(self.not_a_pattern(cx, right_id, *unwind));
                }
                pcore::Regexp::new(&**source)
            }
            other => {
                let text = format!("no implicit conversion of {} into String", ruby_name(other));
                let detail = crate::error::EvalError::without_location(text);
                return Err(self.not_a_pattern(cx, right_id, EvalUnwind::Error(detail)));
            }
        };
        let Value::Str(text) = &left else {
            let text = format!(
                "Left match operand must result in a String value. Got {}.",
                label::with_article(&label::value_label(&left))
            );
            return Err(self.fail(cx, cx.unit.node(left_id).at, "MATCH_NOT_STRING", text));
        };
        let found = self.search(&pattern, text)?;
        Ok(Value::Bool(found != negated))
    }

    #[cold]
    fn not_a_pattern(
        &self,
        cx: EvalContext<'_>,
        right: NodeId,
        unwind: EvalUnwind,
    ) -> Box<EvalUnwind> {
        let EvalUnwind::Error(error) = unwind else {
            return Box::new(unwind);
        };
        let text = format!(
            "Can not convert right match operand to a regular expression. Caused by '{}'.",
            error.message
        );
        self.fail(cx, cx.unit.node(right).at, "MATCH_NOT_REGEXP", text)
    }

    #[inline(never)]
    pub(super) fn and(&mut self, cx: EvalContext<'_>, left: NodeId, right: NodeId) -> EvalResult {
        let left = self.eval(cx, left)?;
        if self.looks_ahead && left.is_unknown() {
            return self.unknown_junction(cx, &left, right);
        }
        if !left.is_truthy() {
            return Ok(Value::Bool(false));
        }
        self.truth(cx, right)
    }

    #[inline(never)]
    pub(super) fn or(&mut self, cx: EvalContext<'_>, left: NodeId, right: NodeId) -> EvalResult {
        let left = self.eval(cx, left)?;
        if self.looks_ahead && left.is_unknown() {
            return self.unknown_junction(cx, &left, right);
        }
        if left.is_truthy() {
            return Ok(Value::Bool(true));
        }
        self.truth(cx, right)
    }

    /// Truth of an operand as a Boolean value.
    fn truth(&mut self, cx: EvalContext<'_>, operand: NodeId) -> EvalResult {
        let value = self.eval(cx, operand)?;
        if self.looks_ahead && value.is_unknown() {
            return Ok(self.unknown_of(&[&value]).unwrap_or_default());
        }
        Ok(Value::Bool(value.is_truthy()))
    }

    #[inline(never)]
    pub(super) fn not(&mut self, cx: EvalContext<'_>, operand: NodeId) -> EvalResult {
        let truth = self.truth(cx, operand)?;
        Ok(match truth {
            Value::Bool(truth) => Value::Bool(!truth),
            unknown => unknown,
        })
    }

    #[inline(never)]
    pub(super) fn minus(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        operand: NodeId,
    ) -> EvalResult {
        let value = self.eval(cx, operand)?;
        if let Some(unknown) = self.unknown_of(&[&value]) {
            return Ok(unknown);
        }
        match value {
            Value::Int(number) => match number.checked_neg() {
                Some(negative) => Ok(Value::Int(negative)),
                None => Err(self.overflow_error(
                    cx,
                    node.at,
                    "An Unary Minus",
                    true,
                    "8000000000000000",
                )),
            },
            Value::Float(number) => Ok(Value::Float(-number)),
            Value::Timespan(length) => Ok(pcore::Timespan::from_nanos(-length.nanos())
                .map_or(Value::Timespan(length), Value::Timespan)),
            other => Err(self.not_a_number_error(cx, node.at, &other)),
        }
    }

    #[inline(never)]
    pub(super) fn splat(&mut self, cx: EvalContext<'_>, operand: NodeId) -> EvalResult {
        let value = self.eval(cx, operand)?;
        if self.looks_ahead && value.is_unknown() {
            self.depends_on(&[&value]);
            return Ok(value);
        }
        Ok(match value {
            Value::Undef => Value::array(Vec::new()),
            Value::Array(_) => value,
            Value::Hash(entries) => {
                self.charge(entries.len() * 3)?;
                Value::array(pairs(&entries))
            }
            Value::Object(object) => match object.elements() {
                Some(elements) => Value::array(elements),
                None => Value::array(vec![Value::Object(object)]),
            },
            other => Value::array(vec![other]),
        })
    }
}

/// Ruby's name for a value that has no string form.
fn ruby_name(value: &Value) -> String {
    match value {
        Value::Undef => "nil".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        other => label::ruby_class(other),
    }
}
