//! Methods of functions, and the calls that they make.
//!
//! Invariant: each call of a method has its own variables and its own last match.

use super::Interpreter;
use crate::error::NativeRubyError;
use crate::function_syntax::RubyMethod;
use crate::scope::RubyCallKind;
use crate::syntax::Expr;
use crate::value::{Eval, Interruption, RubyValue, refuse};

impl<'t> Interpreter<'t, '_> {
    /// Calls a method with arguments of a manifest.
    pub(crate) fn call_dispatch(
        mut self,
        method: &str,
        arguments: &[pcore::Value],
    ) -> Result<pcore::Value, NativeRubyError> {
        let arguments = arguments.iter().map(RubyValue::of_scope).collect();
        let result = self.call_own(method, arguments);
        match result.and_then(|value| value.to_puppet()) {
            Ok(value) => Ok(value),
            Err(interruption) => Err(self.failure(interruption)),
        }
    }

    pub(super) fn call_own(&mut self, name: &str, arguments: Vec<RubyValue>) -> Eval {
        let methods: &'t [RubyMethod] = self.methods;
        let Some(method) = methods.iter().find(|method| *method.name == *name) else {
            return refuse(format!("the method {name}"));
        };
        // each call makes its variables anew
        self.steps += u64::try_from(method.locals).unwrap_or(u64::MAX);
        self.count_step()?;
        let locals = vec![RubyValue::Nil; method.locals];
        let outer_locals = std::mem::replace(&mut self.locals, locals);
        let outer_match = self.last_match.take();
        self.depth += 1;
        let result = self.run_method(method, arguments);
        self.depth -= 1;
        self.locals = outer_locals;
        self.last_match = outer_match;
        match result {
            Err(Interruption::Return(value)) => Ok(value),
            result => result,
        }
    }

    fn run_method(&mut self, method: &'t RubyMethod, arguments: Vec<RubyValue>) -> Eval {
        let mut arguments = arguments.into_iter();
        for (slot, default) in &method.parameters {
            self.locals[*slot] = match (arguments.next(), default) {
                (Some(argument), _) => argument,
                (None, Some(default)) => self.eval(default)?,
                (None, None) => return refuse("another number of arguments"),
            };
        }
        let rest: Vec<RubyValue> = arguments.collect();
        match method.rest {
            Some(slot) => self.locals[slot] = RubyValue::array(rest),
            None if !rest.is_empty() => return refuse("another number of arguments"),
            None => {}
        }
        self.eval_body(&method.body)
    }

    /// `call_function('name', …)`
    pub(super) fn function_call(&mut self, arguments: &'t [Expr]) -> Eval {
        let arguments = self.eval_list(arguments)?;
        let Some((RubyValue::Str(name), arguments)) = arguments.split_first() else {
            return refuse("call_function in another form");
        };
        self.call_scope(RubyCallKind::Modern, &name.get(), arguments)
    }

    /// Methods of the global scope.
    pub(super) fn call_scope_value(
        &mut self,
        name: &str,
        arguments: &[RubyValue],
    ) -> Eval<Option<RubyValue>> {
        match (name, arguments) {
            ("[]" | "lookupvar", [RubyValue::Str(name)]) => {
                self.scope_variable_named(&name.get()).map(Some)
            }
            _ => Ok(None),
        }
    }
}
