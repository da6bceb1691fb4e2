//! Code of an environment that is written in Ruby. Main types: [`RubyProvider`], [`RubyCode`],
//! [`RubyCaller`].
//!
//! The compiler runs no Ruby itself. Invariant: Ruby code reaches a compilation only through
//! [`RubyCaller`], in the scope of the call.

use std::fmt;
use std::sync::Arc;

use evaluator::function::CallArguments;
use evaluator::{
    CodeBlock, EvalError, EvalResult, Evaluator, SourceLocation, VariableScope, raise,
};
use pcore::{Hash, Value};
use resource_types::ResourceType;

use crate::compilation::Compilation;
use crate::functions::create_from_hash;

/// Starts Ruby for compilations of one version of an environment.
pub trait RubyProvider: Send + Sync {
    /// Ruby for one compilation. Nothing needs to run before the first call.
    fn start(&self) -> Box<dyn RubyCode>;

    /// A resource type of the environment's modules; `None` if there is none with this name. The
    /// error says why it cannot be had.
    fn resource_type(&self, name: &str) -> Result<Option<ResourceType>, String>;
}

/// Ruby for one compilation.
pub trait RubyCode {
    /// The interface that a function in Ruby is written for; `None` if there is no such function.
    fn find_function(&self, name: &str) -> Option<RubyFunctionKind>;

    /// Calls a function. Its errors have the text of the exception, and a hint with file and line.
    fn call_function(
        &self,
        name: &str,
        arguments: &[Value],
        block: Option<BlockArity>,
        caller: &mut dyn RubyCaller,
    ) -> EvalResult;

    /// Renders an ERB template with the variables of the caller.
    fn render_erb(
        &self,
        template: ErbSource<'_>,
        caller: &mut dyn RubyCaller,
    ) -> EvalResult<String>;
}

/// The interface that a function in Ruby is written for. It decides in which scope the function
/// calls others and declares resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RubyFunctionKind {
    /// Puppet 4: it acts in the global scope.
    Modern,
    /// Puppet 3: it acts in the scope of its caller.
    Former,
}

/// An ERB template, as a text or in a file of a module.
#[derive(Debug, Clone, Copy)]
pub enum ErbSource<'t> {
    Text(&'t str),
    /// Path of a file.
    File(&'t str),
}

/// Numbers of parameters of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockArity {
    pub required: usize,
    /// The greatest number of arguments; `None` if there is none.
    pub most: Option<usize>,
}

/// The compilation, as code in Ruby sees it.
pub trait RubyCaller {
    /// Value of a variable; `None` if it is unknown.
    fn variable(&mut self, name: &str) -> EvalResult<Option<Value>>;

    /// Visible variables that are not undef. With `names` only those are needed whose name is in it
    /// after each character other than letters, digits and `_` became `_`.
    fn variables(&mut self, names: Option<&[String]>) -> EvalResult<Hash>;

    /// True if the compiler has the function without Ruby.
    fn has_function(&mut self, name: &str) -> bool;

    /// Calls a function that the compiler has.
    fn call_function(&mut self, name: &str, arguments: Vec<Value>) -> EvalResult;

    /// Calls the block of the call.
    fn call_block(&mut self, arguments: Vec<Value>) -> EvalResult;

    /// Adds a resource to the catalog.
    fn declare_resource(
        &mut self,
        type_name: &str,
        title: &Value,
        parameters: &Hash,
    ) -> EvalResult<()>;

    /// Tags of the catalog and of the container of the caller.
    fn tags(&mut self) -> Vec<String>;

    /// Names of the evaluated classes.
    fn classes(&mut self) -> Vec<String>;

    /// Logs a message at a level such as `warning`.
    fn log(&mut self, level: &str, message: &str);
}

impl Compilation<'_> {
    /// Ruby for this compilation; `None` if the environment has none.
    pub(crate) fn ruby(&self) -> Option<&dyn RubyCode> {
        let provider = self.environment.settings.ruby.as_ref()?;
        Some(&**self.ruby.get_or_init(|| provider.start()))
    }

    /// Calls a function in Ruby; `None` if there is none with that name.
    pub(crate) fn call_ruby(
        &self,
        evaluator: &mut Evaluator<'_>,
        call: &CallArguments<'_>,
    ) -> Option<EvalResult> {
        let ruby = self.ruby()?;
        let kind = ruby.find_function(call.name)?;
        let block = call.block.map(|block| {
            let (required, most) = block.arity();
            BlockArity { required, most }
        });
        let own = call.scope();
        let mut caller = CompilationCaller {
            compilation: self,
            evaluator,
            acting_scope: match kind {
                RubyFunctionKind::Modern => own.global(),
                RubyFunctionKind::Former => own.clone(),
            },
            scope: own,
            block: call.block,
            location: call.location(),
        };
        let outer = self.ruby_call_site.replace(Some(call.location()));
        let result = ruby.call_function(call.name, &call.arguments, block, &mut caller);
        self.ruby_call_site.replace(outer);
        Some(result)
    }

    /// Renders an ERB template; `None` if there is no Ruby.
    pub(crate) fn render_with_ruby(
        &self,
        evaluator: &mut Evaluator<'_>,
        call: &CallArguments<'_>,
        template: ErbSource<'_>,
    ) -> Option<EvalResult<String>> {
        let ruby = self.ruby()?;
        let mut caller = CompilationCaller {
            compilation: self,
            evaluator,
            acting_scope: call.scope(),
            scope: call.scope(),
            block: None,
            location: call.location(),
        };
        Some(ruby.render_erb(template, &mut caller))
    }
}

/// A call of Ruby code from a manifest.
struct CompilationCaller<'c, 'e, 'h> {
    compilation: &'c Compilation<'e>,
    evaluator: &'c mut Evaluator<'h>,
    /// Scope whose variables are read.
    scope: VariableScope,
    /// Scope in which functions are called and resources are declared.
    acting_scope: VariableScope,
    block: Option<&'c CodeBlock>,
    location: SourceLocation,
}

impl RubyCaller for CompilationCaller<'_, '_, '_> {
    fn variable(&mut self, name: &str) -> EvalResult<Option<Value>> {
        self.evaluator.variable_in(&self.scope, name).transpose()
    }

    fn variables(&mut self, names: Option<&[String]>) -> EvalResult<Hash> {
        let all = self.evaluator.variables_in(&self.scope);
        let wanted = |name: &str| {
            let plain: String = name
                .chars()
                .map(|c| {
                    if c.is_alphanumeric() || c == '_' {
                        c
                    } else {
                        '_'
                    }
                })
                .collect();
            names.is_none_or(|names| names.contains(&plain))
        };
        Ok(all
            .into_iter()
            .filter(|(name, value)| !value.is_undef() && wanted(name))
            .map(|(name, value)| (Value::Str(name), value))
            .collect())
    }

    fn has_function(&mut self, name: &str) -> bool {
        crate::functions::exists(name) || self.evaluator.has_function(name).unwrap_or(false)
    }

    fn call_function(&mut self, name: &str, arguments: Vec<Value>) -> EvalResult {
        self.evaluator
            .call_function_in(&self.acting_scope, name, arguments)
    }

    fn call_block(&mut self, arguments: Vec<Value>) -> EvalResult {
        match self.block {
            Some(block) => self.evaluator.call_block_with(block, arguments),
            None => raise("no block was given"),
        }
    }

    fn declare_resource(
        &mut self,
        type_name: &str,
        title: &Value,
        parameters: &Hash,
    ) -> EvalResult<()> {
        let resources: Hash = [(title.clone(), Value::hash(parameters.clone()))]
            .into_iter()
            .collect();
        let place = (self.acting_scope.catalog_scope(), self.location.clone());
        let request = (type_name, &resources, &Hash::new());
        create_from_hash(self.compilation, self.evaluator, place, request).map(drop)
    }

    fn tags(&mut self) -> Vec<String> {
        let state = self.compilation.state();
        let container = state.scope(self.acting_scope.catalog_scope()).resource;
        let own = &state.catalog.resource(container).tags;
        own.iter().map(ToString::to_string).collect()
    }

    fn classes(&mut self) -> Vec<String> {
        let state = self.compilation.state();
        state.catalog.classes().map(ToString::to_string).collect()
    }

    fn log(&mut self, level: &str, message: &str) {
        let level = match level {
            "debug" => evaluator::LogLevel::Debug,
            "info" => evaluator::LogLevel::Info,
            "warning" => evaluator::LogLevel::Warning,
            "err" => evaluator::LogLevel::Err,
            "alert" => evaluator::LogLevel::Alert,
            "emerg" => evaluator::LogLevel::Emerg,
            "crit" => evaluator::LogLevel::Crit,
            _ => evaluator::LogLevel::Notice,
        };
        self.compilation.add_log(level, message, &self.location);
    }
}

/// An error of Ruby code: the text of the exception, with its place as a hint.
#[must_use]
pub fn ruby_error(message: impl Into<String>, place: Option<String>) -> EvalError {
    let error = EvalError::without_location(message);
    match place {
        Some(place) => error.with_hint(format!("raised by Ruby code at {place}")),
        None => error,
    }
}

impl fmt::Debug for dyn RubyProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RubyProvider")
    }
}

/// A shared provider, as [`EnvironmentSettings`](crate::EnvironmentSettings) holds it.
pub(crate) type SharedRuby = Arc<dyn RubyProvider>;
