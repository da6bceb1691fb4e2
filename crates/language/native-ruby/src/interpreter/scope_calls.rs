//! Variables and functions of Puppet's scope.

use std::sync::Arc;

use super::Interpreter;
use crate::scope::RubyCallKind;
use crate::syntax::{Expr, ScopeUse};
use crate::value::{Eval, Interruption, RubyValue, refuse};

impl<'t> Interpreter<'t, '_> {
    pub(super) fn use_scope(&mut self, scope_use: &'t ScopeUse) -> Eval {
        match scope_use {
            ScopeUse::Variable(name) => self.scope_variable(name),
            ScopeUse::HasVariable(name) => self.has_variable(name),
            ScopeUse::SetVariable(name, value) => self.set_variable(name, value),
            ScopeUse::LegacyCall(name, list) => self.legacy_call(name, list),
            ScopeUse::ModernCall(name, list) => self.modern_call(name, list),
        }
    }

    /// The value of `@name`: one that the template set, or the scope's.
    pub(super) fn instance_variable(&mut self, name: &Arc<str>) -> Eval {
        if let Some(value) = self.instance_variables.get(name) {
            return Ok(value.clone());
        }
        let found = self.find_instance_variable(name)?;
        Ok(found.unwrap_or(RubyValue::Nil))
    }

    pub(super) fn find_instance_variable(&mut self, name: &Arc<str>) -> Eval<Option<RubyValue>> {
        self.refuse_set_variable(name)?;
        let found = self
            .scope
            .instance_variable(name)
            .map_err(Interruption::Scope)?;
        let Some(found) = found.filter(|value| !value.is_undef()) else {
            return Ok(None);
        };
        let value = RubyValue::of_variable(&found, &self.scope_values)?;
        self.instance_variables
            .insert(Arc::clone(name), value.clone());
        Ok(Some(value))
    }

    /// `defined?(@name)`
    pub(super) fn defined_instance_variable(&mut self, name: &Arc<str>) -> Eval {
        let is_set = self.instance_variables.contains_key(name)
            || self.find_instance_variable(name)?.is_some();
        Ok(match is_set {
            true => RubyValue::string("instance-variable"),
            false => RubyValue::Nil,
        })
    }

    pub(super) fn scope_variable(&mut self, name: &'t Expr) -> Eval {
        let name = self.eval_name(name)?;
        self.scope_variable_named(&name)
    }

    pub(super) fn scope_variable_named(&mut self, name: &str) -> Eval {
        if let Some(value) = self.set_variables.get(name) {
            return Ok(value.clone());
        }
        match self.scope.variable(name).map_err(Interruption::Scope)? {
            Some(value) => self.scope_values.read(&value),
            None => refuse(format!("the unknown variable {name}")),
        }
    }

    /// True if the scope itself has a variable, whatever its value.
    pub(super) fn has_scope_variable(&mut self, name: &str) -> Eval<bool> {
        let found = self.scope.variable(name).map_err(Interruption::Scope)?;
        Ok(found.is_some())
    }

    /// A variable that a template set is seen by its name only.
    fn refuse_set_variable(&self, name: &str) -> Eval<()> {
        match self.set_variables.contains_key(name) {
            true => refuse(format!("another use of the variable {name}")),
            false => Ok(()),
        }
    }

    pub(super) fn has_variable(&mut self, name: &'t Expr) -> Eval {
        let name = self.eval_name(name)?;
        self.refuse_set_variable(&name)?;
        let has = self
            .scope
            .has_variable(&name)
            .map_err(Interruption::Scope)?;
        Ok(RubyValue::Bool(has))
    }

    pub(super) fn legacy_call(&mut self, name: &str, list: &'t Expr) -> Eval {
        let list = self.eval(list)?;
        let RubyValue::Array(arguments) = list else {
            return refuse("arguments that are no array");
        };
        self.call_scope(RubyCallKind::Legacy, name, &arguments.get())
    }

    pub(super) fn modern_call(&mut self, name: &'t Expr, list: &'t Expr) -> Eval {
        let name = self.eval_name(name)?;
        match self.eval(list)? {
            RubyValue::Array(arguments) => {
                self.call_scope(RubyCallKind::Modern, &name, &arguments.get())
            }
            other => refuse(format!("{} as the arguments of a function", other.kind())),
        }
    }

    pub(super) fn call_scope(
        &mut self,
        kind: RubyCallKind,
        name: &str,
        arguments: &[RubyValue],
    ) -> Eval {
        if name == "template" && !self.set_variables.is_empty() {
            return self.render_nested(arguments);
        }
        let arguments: Vec<pcore::Value> = arguments
            .iter()
            .map(RubyValue::to_puppet)
            .collect::<Eval<_>>()?;
        let result = self.scope.call_function(kind, name, &arguments);
        match result.map_err(Interruption::Scope)? {
            Some(value) => {
                self.calls += 1;
                self.scope_values.read(&value)
            }
            None => refuse(format!("the function {name}")),
        }
    }

    pub(super) fn eval_name(&mut self, name: &'t Expr) -> Eval<Arc<str>> {
        match self.eval(name)? {
            RubyValue::Str(name) => Ok(name.get()),
            other => refuse(format!("{} as a name", other.kind())),
        }
    }
}
