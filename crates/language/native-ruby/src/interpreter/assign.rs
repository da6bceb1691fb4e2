//! Assignments to variables and elements.

use std::sync::Arc;

use super::Interpreter;
use crate::defaults::ELEMENTS_MAX;
use crate::syntax::{AssignOperator, Expr, Target};
use crate::value::{Eval, Key, RubyValue, refuse};

/// A target whose receiver and index were evaluated, which Ruby does once.
enum Place {
    Local(usize),
    InstanceVariable(Arc<str>),
    Element(RubyValue, RubyValue),
}

impl<'t> Interpreter<'t, '_> {
    pub(super) fn assign(&mut self, target: &'t Target, value: &'t Expr) -> Eval {
        let place = self.place(target)?;
        let value = self.eval(value)?;
        self.store(place, value)
    }

    pub(super) fn operator_assign(
        &mut self,
        target: &'t Target,
        operator: &'t AssignOperator,
        value: &'t Expr,
    ) -> Eval {
        let place = self.place(target)?;
        let old = match &place {
            Place::Local(slot) => self.locals[*slot].clone(),
            Place::InstanceVariable(name) => self.instance_variable(name)?,
            Place::Element(receiver, index) => {
                self.call_method(receiver, "[]", std::slice::from_ref(index))?
            }
        };
        let new = match operator {
            AssignOperator::Or if old.is_truthy() => return Ok(old),
            AssignOperator::And if !old.is_truthy() => return Ok(old),
            AssignOperator::Or | AssignOperator::And => self.eval(value)?,
            AssignOperator::Method(name) => {
                let operand = self.eval(value)?;
                self.call_method(&old, name, &[operand])?
            }
        };
        self.store(place, new)
    }

    fn place(&mut self, target: &'t Target) -> Eval<Place> {
        Ok(match target {
            Target::Local(slot) => Place::Local(*slot),
            Target::InstanceVariable(name) => Place::InstanceVariable(Arc::clone(name)),
            Target::Index(receiver, index) => {
                let receiver = self.eval(receiver)?;
                Place::Element(receiver, self.eval(index)?)
            }
        })
    }

    fn store(&mut self, place: Place, value: RubyValue) -> Eval {
        match place {
            Place::Local(slot) => self.locals[slot] = value.clone(),
            Place::InstanceVariable(name) => {
                self.instance_variables.insert(name, value.clone());
            }
            Place::Element(RubyValue::Array(array), RubyValue::Int(index)) => {
                let length = array.get().len();
                let Some(index) = super::indexes::position(index, length) else {
                    return refuse("an index before the start of an array");
                };
                if index >= ELEMENTS_MAX {
                    return refuse("a large index");
                }
                let element = value.clone();
                array.change(|elements| {
                    if index >= elements.len() {
                        elements.resize(index + 1, RubyValue::Nil);
                    }
                    elements[index] = element;
                })?;
            }
            Place::Element(RubyValue::Hash(hash), key) => {
                let key = Key::new(&key)?;
                let element = value.clone();
                hash.change(|entries| {
                    entries.insert(key, element);
                })?;
            }
            Place::Element(receiver, _) => {
                return refuse(format!("an assignment into {}", receiver.kind()));
            }
        }
        Ok(value)
    }
}
