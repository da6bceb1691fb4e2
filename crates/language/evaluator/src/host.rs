//! Interface between an evaluation and its surroundings. Main type: [`EvaluationHost`].
//!
//! Invariant: the clock, randomness, disk, environment, logs and everything with an effect are
//! reached only through this trait and [`CodeSource`], so an evaluation can be repeated exactly by a
//! host that returns the same results.

use std::sync::Arc;

use pcore::{Hash, PuppetTimestamp, Type, Value};
use syntax::ast::{Ast, ExprId};

use crate::Evaluator;
use crate::block::{CodeBlock, ForeignBlock};
use crate::catalog_host::CatalogHost;
use crate::code_source::CodeSource;
use crate::error::{EvalError, EvalResult, SourceLocation};
use crate::function::{CallArguments, NativeFunction};
use crate::unknown::UnknownValues;
use crate::variable_scope::VariableScope;

/// Supplies code, data, time, logs and host functions to an evaluation. Every method except
/// [`code`](Self::code) and [`log`](Self::log) has a default for hosts without that feature.
///
/// Methods take `&self`, because they may call the evaluator, which may call the host again.
pub trait EvaluationHost {
    /// Source of functions, types and templates.
    fn code(&self) -> &dyn CodeSource;

    /// A host function with its dispatches. Core functions take precedence over host functions, and
    /// host functions over those of modules.
    fn function(&self, name: &str) -> Option<&'static NativeFunction> {
        let _ = name;
        None
    }

    /// True if the host function with this name merely replaces one of a module. If the environment
    /// has that module, and the function there is written in Puppet, the module's function is
    /// called instead.
    fn stands_in_for(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// Notifies the host before one of its own functions is called, unless a module's Puppet
    /// function is called instead. `place` computes the source location of the call.
    fn calls(&self, name: &str, place: &dyn Fn() -> SourceLocation) -> EvalResult<()> {
        let _ = (name, place);
        Ok(())
    }

    /// Runs a dispatch of a host function whose body is
    /// [`DispatchBody::Host`](crate::function::DispatchBody::Host).
    fn run(
        &self,
        name: &'static str,
        evaluator: &mut Evaluator<'_>,
        call: CallArguments<'_>,
    ) -> EvalResult {
        let _ = (evaluator, call);
        Err(EvalError::without_location(format!(
            "the function '{name}' cannot be carried out here"
        ))
        .into())
    }

    /// Names of the host functions, for "did you mean" hints.
    fn function_names(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Calls a function that is neither a core, host nor module function; `None` if the host does
    /// not have it either.
    fn unknown_function(
        &self,
        evaluator: &mut Evaluator<'_>,
        call: &mut CallArguments<'_>,
    ) -> Option<EvalResult> {
        let _ = (evaluator, call);
        None
    }

    /// Configuration data of the node groups, as `CLASS::PARAMETER` and value, for Hiera's function
    /// `classifier_data`.
    fn classifier_data(&self) -> Arc<Hash> {
        Arc::default()
    }

    /// Calls a block in another language, which the host passed to a function.
    fn call_foreign_block(
        &self,
        evaluator: &mut Evaluator<'_>,
        block: &ForeignBlock,
        arguments: Vec<Value>,
    ) -> EvalResult {
        let _ = (evaluator, block, arguments);
        crate::raise("the block cannot be called here")
    }

    /// Calls a function in another language that provides data of Hiera; `None` if the host has no
    /// such function, and an inner `None` if the function has no value.
    fn foreign_data_function(
        &self,
        evaluator: &mut Evaluator<'_>,
        call: &ForeignDataCall<'_>,
    ) -> Option<EvalResult<Option<Value>>> {
        let _ = (evaluator, call);
        None
    }

    /// Calls a method that the object's own [`pcore::PuppetObject::call`] does not have: methods
    /// with blocks or effects. `None` if there is no such method.
    fn method(
        &self,
        evaluator: &mut Evaluator<'_>,
        receiver: &Value,
        name: &str,
        arguments: &[Value],
        block: Option<&CodeBlock>,
    ) -> Option<EvalResult> {
        let _ = (evaluator, receiver, name, arguments, block);
        None
    }

    /// Creates an object of a host type; `None` if the type creates its objects itself.
    fn construct(&self, ty: &Type, arguments: &[Value]) -> Option<EvalResult> {
        let _ = (ty, arguments);
        None
    }

    /// Called regularly during long computations: the host may yield to other evaluations, or
    /// interrupt this one by returning an error.
    fn breathe(&self) -> EvalResult<()> {
        Ok(())
    }

    /// Value of a variable that no scope has; `None` if it is unknown. `name` has no leading `::`.
    fn variable(&self, name: &str) -> Option<EvalResult> {
        let _ = name;
        None
    }

    /// A host type such as `Target` or `ResultSet`; `None` if there is none with this name.
    fn named_type(&self, name: &str) -> Option<Type> {
        let _ = name;
        None
    }

    /// Result of `defined` for a class, a resource or a type, given by name or reference.
    fn is_defined(&self, what: &Value) -> bool {
        let _ = what;
        false
    }

    fn log(&self, level: LogLevel, message: &str, place: &SourceLocation);

    /// Called when the program unwraps a `Sensitive`. The value is an ordinary value from then on,
    /// so a host that records anything must redact these texts.
    fn unwrapped(&self, value: &Value) {
        let _ = value;
    }

    /// Current time, for `Timestamp.new` without arguments and similar functions.
    fn now(&self) -> EvalResult<PuppetTimestamp> {
        Err(EvalError::without_location("the time is not known here").into())
    }

    /// Unpredictable bytes, for `shuffle` and salts. A host that repeats an evaluation returns the
    /// same bytes again.
    fn random(&self) -> EvalResult<[u8; 16]> {
        Err(EvalError::without_location("random numbers are not available here").into())
    }

    /// Runs `lookup`, `hiera`, `hiera_array` or `hiera_hash`, according to the name in `call`. The
    /// arguments have already been accepted by one of its dispatches.
    fn lookup(&self, evaluator: &mut Evaluator<'_>, call: &mut CallArguments<'_>) -> EvalResult {
        let _ = (evaluator, call);
        Err(EvalError::without_location("data cannot be looked up here").into())
    }

    /// Handler for unknown values; `None` if all values are known.
    fn unknowns(&self) -> Option<&dyn UnknownValues> {
        None
    }

    /// Runs an `apply(..) { .. }` block of a plan.
    fn apply(&self, evaluator: &mut Evaluator<'_>, apply: ApplyBlock<'_>) -> EvalResult {
        let _ = (evaluator, apply);
        Err(EvalError::without_location(
            "apply blocks cannot be carried out here: there is no compiler",
        )
        .into())
    }

    /// Compiler of the catalog; `None` if no catalog is being compiled. Programs are parsed as
    /// manifests with a compiler, else as plans.
    fn catalog(&self) -> Option<&dyn CatalogHost> {
        None
    }
}

/// A call of a function in another language that provides data of Hiera.
#[derive(Debug)]
pub struct ForeignDataCall<'c> {
    pub function: &'c str,
    /// The arguments before the context: key or segments, and options.
    pub arguments: &'c [Value],
    /// The `Puppet::LookupContext` of the call.
    pub context: &'c Value,
    /// The module whose data are looked up; `None` in the other layers.
    pub module: Option<&'c str>,
    /// Entry of the hierarchy with its location. Calls with the same text share a cache.
    pub entry: &'c str,
    /// The scope of the code that performs the lookup.
    pub scope: &'c VariableScope,
}

/// The block of an `apply` call.
#[derive(Debug)]
pub struct ApplyBlock<'a> {
    pub arguments: Vec<Value>,
    pub ast: &'a Arc<Ast>,
    /// The `apply` expression in `ast`.
    pub expression: ExprId,
    /// Variables visible to the block.
    pub scope: VariableScope,
    pub location: SourceLocation,
}

/// The levels of Puppet's log functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Err,
    Alert,
    Emerg,
    Crit,
}
