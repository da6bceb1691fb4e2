//! Variables that a template sets in the scope, and the templates that see them.
//!
//! Invariant: such a variable lives as long as the outermost template, and only native templates inside it
//! read it. Everything else that could see it is for Ruby.

use super::Interpreter;
use crate::syntax::Expr;
use crate::template::ErbTemplate;
use crate::value::{Eval, Interruption, RubyValue, refuse};

impl<'t> Interpreter<'t, '_> {
    /// `scope.setvar('name', value)`
    pub(super) fn set_variable(&mut self, name: &'t Expr, value: &'t Expr) -> Eval {
        let name = self.eval_name(name)?;
        let value = self.eval(value)?;
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let is_plain = name.chars().all(is_part) && !name.starts_with(|c: char| c.is_ascii_digit());
        if !is_plain || name.is_empty() {
            return refuse(format!("the name {name} of a variable"));
        }
        if self.set_variables.contains_key(&name) || self.has_scope_variable(&name)? {
            return refuse(format!("the variable {name}, which is set already"));
        }
        self.set_variables.insert(name, value);
        Ok(RubyValue::Unknown)
    }

    /// Renders templates that may read the variables which this one set.
    pub(super) fn render_nested(&mut self, names: &[RubyValue]) -> Eval {
        let mut text = String::new();
        for name in names {
            let RubyValue::Str(name) = name else {
                return refuse(format!("{} as the name of a template", name.kind()));
            };
            let Some(template) = self.scope.native_template(&name.get()) else {
                return refuse(format!("the template {}", name.get()));
            };
            text.push_str(&self.render_inside(&template)?);
        }
        self.calls += 1;
        Ok(RubyValue::string(text))
    }

    fn render_inside(&mut self, template: &ErbTemplate) -> Eval<String> {
        let mut nested = Interpreter {
            set_variables: std::mem::take(&mut self.set_variables),
            scope_values: self.scope_values.clone(),
            steps: self.steps,
            depth: self.depth,
            calls: self.calls,
            ..Interpreter::new(template, &mut *self.scope)
        };
        let result = nested.eval_body(&template.body);
        let Interpreter {
            out,
            set_variables,
            steps,
            calls,
            ..
        } = nested;
        self.set_variables = set_variables;
        (self.steps, self.calls) = (steps, calls);
        match result {
            Ok(_) => Ok(out),
            Err(Interruption::Refused(reason)) => refuse(reason),
            // the message of a failure names all templates around it
            Err(_) => refuse("a failure in a template inside"),
        }
    }
}
