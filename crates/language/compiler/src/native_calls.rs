//! ERB templates and functions in Ruby: carried out natively where that is exactly what Ruby gives, else by
//! Ruby.
//!
//! Invariant: native code calls no function that has an effect, so Ruby may run it anew.

use std::any::Any;
use std::sync::Arc;

use evaluator::function::CallArguments;
use evaluator::{EvalResult, EvalUnwind, Evaluator, VariableScope, raise};
use native_ruby::{ErbTemplate, NativeRubyError, RubyCallKind, RubyScope, RubyScopeError};
use pcore::Value;

use crate::compilation::Compilation;
use crate::defaults::NATIVE_CALLS_MAX;
use crate::ruby::ErbSource;

/// Functions that native templates call; all others are left to Ruby.
const PURE_FUNCTIONS: [&str; 9] = [
    "template",
    "versioncmp",
    "shellquote",
    "sprintf",
    "md5",
    "sha1",
    "sha256",
    "split",
    "join",
];

impl Compilation<'_> {
    /// Renders a template with the variables of the caller.
    pub(crate) fn render_template(
        &self,
        evaluator: &mut Evaluator<'_>,
        call: &CallArguments<'_>,
        source: ErbSource<'_>,
    ) -> EvalResult<String> {
        let native = match source {
            ErbSource::File(path) => self.native_template(evaluator, path),
            ErbSource::Text(text) => ErbTemplate::parse(text).map(Arc::new).ok(),
        };
        if let Some(template) = native {
            let mut scope = NativeScope {
                compilation: self,
                evaluator,
                scope: call.scope(),
                nesting: 0,
            };
            match template.render(&mut scope) {
                Ok(text) => return Ok(text),
                Err(NativeRubyError::NotNative { .. }) => {}
                Err(NativeRubyError::Scope { error, .. }) => return Err(unwind_of(error)),
            }
        }
        self.render_erb(evaluator, call, source)
    }

    /// The template in a module's file; `None` if Ruby has to render it.
    fn native_template(
        &self,
        evaluator: &mut Evaluator<'_>,
        path: &str,
    ) -> Option<Arc<ErbTemplate>> {
        self.environment.erb_template(path, || {
            let file = evaluator.find_module_file(path, "templates");
            file.ok().flatten().map(|file| file.bytes)
        })
    }

    /// Calls a function of Puppet 4 in Ruby; `None` if Ruby has to do it. A call has no effect, so that Ruby
    /// may repeat it. `nesting` counts the native functions that called it.
    pub(crate) fn call_native_function(
        &self,
        evaluator: &mut Evaluator<'_>,
        (name, arguments): (&str, &[Value]),
        global: VariableScope,
        nesting: usize,
    ) -> Option<Value> {
        let module = match self.ruby() {
            Some(ruby) => ruby.function_module(name)?,
            // without Ruby, functions of a module's own namespace are known
            None => name.split_once("::")?.0,
        };
        let function = self.environment.ruby_function(evaluator, module, name)?;
        let mut scope = NativeScope {
            compilation: self,
            evaluator,
            scope: global,
            nesting: nesting + 1,
        };
        function.call(arguments, &mut scope).ok()
    }

    /// The fact with special characters in its name that a template sees under a plain name.
    fn fact_with_plain_name(&self, plain: &str) -> Option<(&Value, &Value)> {
        if !plain.contains('_') {
            return None;
        }
        let facts = self.request.facts.iter();
        let mut found = facts.filter(|(name, _)| {
            name.as_str()
                .is_some_and(|name| name != plain && plain_name(name) == plain)
        });
        found.next()
    }
}

/// A variable's name with `_` for each character other than letters, digits and `_`.
pub(crate) fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() { c } else { '_' };
    name.chars().map(plain).collect()
}

/// The error that ended a rendering.
fn unwind_of(error: RubyScopeError) -> Box<EvalUnwind> {
    match error.0.downcast::<EvalUnwind>() {
        Ok(unwind) => unwind,
        Err(_) => evaluator::EvalError::without_location("the template failed").into(),
    }
}

fn failed(unwind: Box<EvalUnwind>) -> RubyScopeError {
    RubyScopeError(unwind as Box<dyn Any + Send>)
}

/// The scope of the code that renders a template or calls a function.
struct NativeScope<'c, 'e, 'h> {
    compilation: &'c Compilation<'e>,
    evaluator: &'c mut Evaluator<'h>,
    scope: VariableScope,
    /// Native functions around.
    nesting: usize,
}

impl NativeScope<'_, '_, '_> {
    /// Calls a function in Ruby that is native too; `None` if it is another one, or Ruby has to do it.
    fn call_native(&mut self, name: &str, arguments: &[Value]) -> Option<Value> {
        let is_other =
            crate::functions::exists(name) || self.evaluator.has_function(name).unwrap_or(true);
        if is_other || self.nesting >= NATIVE_CALLS_MAX {
            return None;
        }
        let global = self.scope.global();
        let call = (name, arguments);
        self.compilation
            .call_native_function(self.evaluator, call, global, self.nesting)
    }
}

impl RubyScope for NativeScope<'_, '_, '_> {
    fn instance_variable(&mut self, name: &str) -> Result<Option<Value>, RubyScopeError> {
        let found = self.evaluator.variable_in(&self.scope, name);
        let found = found.transpose().map_err(failed)?;
        Ok(found
            .or_else(|| {
                let (name, value) = self.compilation.fact_with_plain_name(name)?;
                self.evaluator.record_variable_read(name.as_str()?);
                Some(value.clone())
            })
            .filter(|value| !value.is_undef()))
    }

    fn variable(&mut self, name: &str) -> Result<Option<Value>, RubyScopeError> {
        let found = self.evaluator.variable_in(&self.scope, name);
        found.transpose().map_err(failed)
    }

    fn has_variable(&mut self, name: &str) -> Result<bool, RubyScopeError> {
        let found = self.variable(name)?;
        Ok(found.is_some_and(|value| !value.is_undef()))
    }

    fn native_template(&mut self, name: &str) -> Option<Arc<ErbTemplate>> {
        self.compilation.native_template(self.evaluator, name)
    }

    fn call_function(
        &mut self,
        kind: RubyCallKind,
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, RubyScopeError> {
        if !PURE_FUNCTIONS.contains(&name) {
            let is_modern = kind == RubyCallKind::Modern;
            return Ok(is_modern
                .then(|| self.call_native(name, arguments))
                .flatten());
        }
        let result = self
            .evaluator
            .call_function_in(&self.scope, name, arguments.to_vec());
        result.map(Some).map_err(failed)
    }
}

impl Compilation<'_> {
    /// Renders a template with Ruby; without Ruby it is an error.
    fn render_erb(
        &self,
        evaluator: &mut Evaluator<'_>,
        call: &CallArguments<'_>,
        source: ErbSource<'_>,
    ) -> EvalResult<String> {
        match self.render_with_ruby(evaluator, call, source) {
            Some(rendered) => rendered,
            None => raise(format!(
                "{}(): the template needs Ruby, which this compilation does not have",
                call.name
            )),
        }
    }
}
