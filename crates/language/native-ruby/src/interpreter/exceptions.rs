//! `begin` with `rescue`, and assignments of several variables.

use super::Interpreter;
use crate::syntax::{Body, Expr, Rescue, Slot};
use crate::value::{Eval, Interruption, RubyValue, refuse};

impl<'t> Interpreter<'t, '_> {
    /// Code that Ruby may have to run is never rescued: its exceptions are unknown.
    pub(super) fn eval_begin(&mut self, body: &'t Body, rescues: &'t [Rescue]) -> Eval {
        let (class, reason) = match self.eval_body(body) {
            Err(Interruption::Raised(class, reason)) => (class, reason),
            result => return result,
        };
        let mut rescues = rescues.iter();
        let rescue = rescues.find(|rescue| rescue.classes.iter().any(|it| it.rescues(class)));
        match rescue {
            Some(rescue) => self.eval_body(&rescue.body),
            None => Err(Interruption::Raised(class, reason)),
        }
    }

    pub(super) fn assign_all(&mut self, slots: &[Slot], list: &'t Expr) -> Eval {
        let values = match self.eval(list)? {
            RubyValue::Array(values) => values.get(),
            other => return refuse(format!("an assignment of {} to several", other.kind())),
        };
        for (index, slot) in slots.iter().enumerate() {
            self.locals[*slot] = values.get(index).cloned().unwrap_or(RubyValue::Nil);
        }
        Ok(RubyValue::Unknown)
    }
}
