//! Calls of blocks, and `case`.

use super::Interpreter;
use crate::syntax::{Block, Body, Expr, Parameter, RubyClass};
use crate::value::{Eval, Interruption, RubyValue, refuse};

impl<'t> Interpreter<'t, '_> {
    /// Calls a block with the values that a method yields.
    pub(super) fn yield_values(&mut self, block: &'t Block, values: &[RubyValue]) -> Eval {
        self.count_step()?;
        let (parameters, locals, body, takes_apart) = match block {
            Block::Code {
                parameters,
                locals,
                body,
                takes_apart,
            } => (parameters, locals, body, *takes_apart),
            Block::Method(name) => {
                return match values {
                    [value] => self.call_method(value, name, &[]),
                    _ => refuse("a method as a block for several values"),
                };
            }
        };
        for slot in locals {
            self.locals[*slot] = RubyValue::Nil;
        }
        match values {
            [RubyValue::Array(elements)] if takes_apart => {
                self.bind(parameters, &elements.get());
            }
            _ => self.bind(parameters, values),
        }
        match self.eval_body(body) {
            Err(Interruption::Next(value)) => Ok(value),
            result => result,
        }
    }

    pub(super) fn yield_value(&mut self, block: &'t Block, value: &RubyValue) -> Eval {
        self.yield_values(block, std::slice::from_ref(value))
    }

    /// True if the block gives something other than `nil` and `false`.
    pub(super) fn is_accepted(&mut self, block: &'t Block, value: &RubyValue) -> Eval<bool> {
        Ok(self.yield_value(block, value)?.is_truthy())
    }

    fn bind(&mut self, parameters: &[Parameter], values: &[RubyValue]) {
        for (index, parameter) in parameters.iter().enumerate() {
            let value = values.get(index).cloned().unwrap_or(RubyValue::Nil);
            match (parameter, value) {
                (Parameter::Slot(slot), value) => self.locals[*slot] = value,
                (Parameter::Nested(nested), RubyValue::Array(elements)) => {
                    self.bind(nested, &elements.get());
                }
                (Parameter::Nested(nested), value) => {
                    self.bind(nested, std::slice::from_ref(&value));
                }
            }
        }
    }

    pub(super) fn eval_case(
        &mut self,
        subject: Option<&'t Expr>,
        branches: &'t [(Vec<Expr>, Body)],
        otherwise: &'t Body,
    ) -> Eval {
        let subject = match subject {
            Some(subject) => Some(self.eval(subject)?),
            None => None,
        };
        for (patterns, body) in branches {
            for pattern in patterns {
                let pattern = self.eval(pattern)?;
                let is_met = match &subject {
                    Some(subject) => self.case_matches(&pattern, subject)?,
                    None => pattern.is_truthy(),
                };
                if is_met {
                    return self.eval_body(body);
                }
            }
        }
        self.eval_body(otherwise)
    }

    /// `pattern === subject`
    pub(super) fn case_matches(&mut self, pattern: &RubyValue, subject: &RubyValue) -> Eval<bool> {
        match pattern {
            RubyValue::Class(class) => Self::is_instance(subject, *class),
            RubyValue::Regex(regex) => match subject {
                RubyValue::Str(text) => self.search(regex, &text.get()),
                RubyValue::Symbol(text) => self.search(regex, text),
                _ => {
                    self.last_match = None;
                    Ok(false)
                }
            },
            RubyValue::Range(low, high, is_exclusive) => match subject {
                RubyValue::Int(number) => Ok(number >= low
                    && high.is_none_or(|high| match is_exclusive {
                        true => *number < high,
                        false => *number <= high,
                    })),
                _ => refuse("a range compared with other than an integer"),
            },
            pattern => pattern.is_equal(subject),
        }
    }

    pub(super) fn is_instance(value: &RubyValue, class: RubyClass) -> Eval<bool> {
        let own: &[RubyClass] = match value {
            RubyValue::Nil => &[RubyClass::Nil],
            RubyValue::Bool(true) => &[RubyClass::True],
            RubyValue::Bool(false) => &[RubyClass::False],
            RubyValue::Int(_) => &[
                RubyClass::Integer,
                RubyClass::Numeric,
                RubyClass::Comparable,
            ],
            RubyValue::Float(_) => &[RubyClass::Float, RubyClass::Numeric, RubyClass::Comparable],
            RubyValue::Str(_) => &[RubyClass::String, RubyClass::Comparable],
            RubyValue::Symbol(_) => &[RubyClass::Symbol, RubyClass::Comparable],
            RubyValue::Array(_) => &[RubyClass::Array, RubyClass::Enumerable],
            RubyValue::Hash(_) => &[RubyClass::Hash, RubyClass::Enumerable],
            RubyValue::Range(..) => &[RubyClass::Enumerable],
            RubyValue::Regex(_) => &[RubyClass::Regexp],
            RubyValue::Match(_) => &[],
            other => return refuse(format!("the class of {}", other.kind())),
        };
        Ok(class == RubyClass::Object || own.contains(&class))
    }
}
