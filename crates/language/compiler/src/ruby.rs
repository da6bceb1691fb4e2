//! Code of an environment that is written in Ruby. Main types: [`RubyProvider`], [`RubyCode`],
//! [`RubyCaller`].
//!
//! The compiler runs no Ruby itself. Invariant: Ruby code reaches a compilation only through
//! [`RubyCaller`], in the scope of the call.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evaluator::{EvalError, EvalResult};
use pcore::{Hash, Value};
use resource_types::ResourceType;

use crate::interrupt::CompileInterrupt;

/// Starts Ruby for compilations of one version of an environment.
pub trait RubyProvider: Send + Sync {
    /// Ruby for one compilation. Nothing needs to run before the first call. `interrupt` ends its calls
    /// early.
    fn start(&self, interrupt: Option<&Arc<CompileInterrupt>>) -> Box<dyn RubyCode>;

    /// A resource type of the environment's modules; `None` if there is none with this name. The
    /// error says why it cannot be had. `interrupt` ends the reading early.
    fn resource_type(
        &self,
        name: &str,
        interrupt: Option<&Arc<CompileInterrupt>>,
    ) -> Result<Option<ResourceType>, String>;
}

/// Ruby for one compilation.
pub trait RubyCode {
    /// The interface that a function in Ruby is written for; `None` if there is no such function.
    fn find_function(&self, name: &str) -> Option<RubyFunctionKind>;

    /// The module with the only file that may define a function of Puppet 4; `None` if there are several
    /// files, or it belongs to no module.
    fn function_module(&self, name: &str) -> Option<&str>;

    /// Calls a function. Its errors have the text of the exception, and a hint with file and line.
    fn call_function(
        &self,
        name: &str,
        arguments: &[Value],
        block: Option<BlockArity>,
        caller: &mut dyn RubyCaller,
    ) -> EvalResult;

    /// Calls a block that Ruby code passed to a function of the compiler.
    fn call_block(
        &self,
        block: RubyCodeBlock,
        arguments: &[Value],
        caller: &mut dyn RubyCaller,
    ) -> EvalResult;

    /// Calls a function that provides data of Hiera; `None` if it has no value.
    fn call_data_function(
        &self,
        call: &RubyDataCall<'_>,
        caller: &mut dyn RubyCaller,
    ) -> EvalResult<Option<Value>>;

    /// Renders an ERB template with the variables of the caller.
    fn render_erb(
        &self,
        template: ErbSource<'_>,
        caller: &mut dyn RubyCaller,
    ) -> EvalResult<String>;
}

/// A call of a function in Ruby that provides data of Hiera.
#[derive(Debug)]
pub struct RubyDataCall<'c> {
    pub function: &'c str,
    /// The arguments before the context.
    pub arguments: &'c [Value],
    /// The module whose data are looked up; `None` in the other layers.
    pub module: Option<&'c str>,
    /// Entry of the hierarchy. Calls with the same text share the cache of their context.
    pub entry: &'c str,
}

/// Calls of Ruby code in a compilation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RubyCalls {
    /// Number of calls and their total time, by function or template.
    pub by_name: BTreeMap<String, (u64, Duration)>,
}

impl RubyCalls {
    /// True if code in Ruby was called.
    #[must_use]
    pub fn has_any(&self) -> bool {
        !self.by_name.is_empty()
    }

    pub(crate) fn add(&mut self, name: &str, time: Duration) {
        let entry = self.by_name.entry(name.to_owned()).or_default();
        entry.0 += 1;
        entry.1 += time;
    }
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

/// A block of Ruby code that is passed to a function of the compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RubyCodeBlock {
    /// Tells [`RubyCode::call_block`] which block is meant.
    pub id: u64,
    pub arity: BlockArity,
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
    fn call_function(
        &mut self,
        name: &str,
        arguments: Vec<Value>,
        block: Option<RubyCodeBlock>,
    ) -> EvalResult;

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

    /// Replaces `%{…}` in a value, for functions that provide data of Hiera.
    fn interpolate(&mut self, value: &Value) -> EvalResult;

    /// Takes a text for the explanation of a lookup.
    fn explain(&mut self, text: &str);

    /// Logs a message at a level such as `warning`.
    fn log(&mut self, level: &str, message: &str);
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
