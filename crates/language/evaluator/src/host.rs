//! What an evaluation needs from outside. Main types: [`Host`], [`CodeSource`].
//!
//! The rule that must hold: the clock, randomness, disk, environment, logs and everything with an effect
//! are reached through these traits and nothing else, so a host that answers alike gets the same
//! evaluation again.

use std::sync::Arc;

use pcore::{Timestamp, Type, Value};
use syntax::ast::{Ast, ExprId};

use crate::block::Block;
use crate::error::{Eval, EvalError, SourceLocation};
use crate::function::{CallArguments, NativeFunction};
use crate::unknown::UnknownValues;
use crate::{Evaluator, VariableScope};

/// The world around an evaluation. Everything but the code has an answer that says that it is not there.
///
/// Methods take `&self`, because they call back into the evaluator, which may come to them again.
pub trait Host {
    /// Where functions, types and templates come from.
    fn code(&self) -> &dyn CodeSource;

    /// A function that the host has, with its forms. It stands in front of functions in modules, behind
    /// the core functions.
    fn function(&self, name: &str) -> Option<&'static NativeFunction> {
        let _ = name;
        None
    }

    /// Whether its function of this name only stands in for one of a module: if the environment has that module, with
    /// the function written in Puppet, the module's is called.
    fn stands_in_for(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// A function of the host is about to be called that is no module's function in Puppet; the place is that of the
    /// call.
    fn calls(&self, name: &str, place: &dyn Fn() -> SourceLocation) -> Eval<()> {
        let _ = (name, place);
        Ok(())
    }

    /// Carries out a form of a function of the host that is [`Run::Host`](crate::function::Run::Host).
    fn run(
        &self,
        name: &'static str,
        evaluator: &mut Evaluator<'_>,
        call: CallArguments<'_>,
    ) -> Eval {
        let _ = (evaluator, call);
        Err(EvalError::raw(format!("the function '{name}' cannot be carried out here")).into())
    }

    /// Names of the host's functions, for hints.
    fn function_names(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// A function that nobody else knows; `None` if the host does not know it either.
    fn unknown_function(
        &self,
        evaluator: &mut Evaluator<'_>,
        call: &mut CallArguments<'_>,
    ) -> Option<Eval> {
        let _ = (evaluator, call);
        None
    }

    /// A method of an object that its own [`pcore::Object::call`] does not have: those with blocks or
    /// effects.
    fn method(
        &self,
        evaluator: &mut Evaluator<'_>,
        receiver: &Value,
        name: &str,
        arguments: &[Value],
        block: Option<&Block>,
    ) -> Option<Eval> {
        let _ = (evaluator, receiver, name, arguments, block);
        None
    }

    /// A new object of a type that the host has; `None`: the type makes its objects itself.
    fn construct(&self, ty: &Type, arguments: &[Value]) -> Option<Eval> {
        let _ = (ty, arguments);
        None
    }

    /// The program has computed for a while: others may have their turn, and whoever wants it to end says
    /// so here.
    fn breathe(&self) -> Eval<()> {
        Ok(())
    }

    /// A variable that no scope has. `name` is without a leading `::`.
    fn variable(&self, name: &str) -> Option<Eval> {
        let _ = name;
        None
    }

    /// A type that the host has: `Target`, `ResultSet`.
    fn named_type(&self, name: &str) -> Option<Type> {
        let _ = name;
        None
    }

    /// `defined` of a class, a resource or a type by its name or reference.
    fn is_defined(&self, what: &Value) -> bool {
        let _ = what;
        false
    }

    fn log(&self, level: LogLevel, message: &str, place: &SourceLocation);

    /// The program has taken this value out of a `Sensitive`. It goes on as an ordinary value, so a host
    /// that writes anything down learns here which texts it must not write.
    fn unwrapped(&self, value: &Value) {
        let _ = value;
    }

    /// The time, for `Timestamp.new` without arguments and the like.
    fn now(&self) -> Eval<Timestamp> {
        Err(EvalError::raw("the time is not known here").into())
    }

    /// Bytes that nobody can foretell, for `shuffle` and salts. A host that evaluates again gives the
    /// same ones again.
    fn random(&self) -> Eval<[u8; 16]> {
        Err(EvalError::raw("random numbers are not available here").into())
    }

    /// `lookup`, `hiera`, `hiera_array` and `hiera_hash`; the call's name says which. The arguments fit one
    /// of its forms.
    fn lookup(&self, evaluator: &mut Evaluator<'_>, call: &mut CallArguments<'_>) -> Eval {
        let _ = (evaluator, call);
        Err(EvalError::raw("data cannot be looked up here").into())
    }

    /// Whoever knows what becomes of values that are not known; `None`: all are.
    fn unknowns(&self) -> Option<&dyn UnknownValues> {
        None
    }

    /// `apply(..) { .. }` of a plan.
    fn apply(&self, evaluator: &mut Evaluator<'_>, apply: ApplyBlock<'_>) -> Eval {
        let _ = (evaluator, apply);
        Err(EvalError::raw("apply blocks cannot be carried out here: there is no compiler").into())
    }

    /// An expression that only a catalog can carry out: a resource, a collector, a relation. `None` if
    /// there is no catalog.
    fn catalog(
        &self,
        evaluator: &mut Evaluator<'_>,
        expression: CatalogExpression<'_>,
    ) -> Option<Eval> {
        let _ = (evaluator, expression);
        None
    }
}

/// The block of an `apply` call.
#[derive(Debug)]
pub struct ApplyBlock<'a> {
    pub arguments: Vec<Value>,
    pub ast: &'a Arc<Ast>,
    /// The `apply` expression in it.
    pub expression: ExprId,
    /// The variables around it.
    pub scope: VariableScope,
    pub place: SourceLocation,
}

/// An expression for a compiler of catalogs.
#[derive(Debug)]
pub struct CatalogExpression<'a> {
    pub ast: &'a Arc<Ast>,
    pub expression: ExprId,
    pub scope: VariableScope,
    pub place: SourceLocation,
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

/// The modules and the environment that code is read from: a directory, a snapshot, a store.
pub trait CodeSource {
    /// A module of the environment.
    fn module(&self, name: &str) -> Option<CodeModule>;

    /// The names of all modules.
    fn modules(&self) -> Vec<Arc<str>>;

    /// A file of a module, or of the environment itself. `path` is relative, with slashes, and has no
    /// `..` in it.
    fn read(&self, owner: CodeOwner<'_>, path: &str) -> Result<Option<SourceFile>, CodeReadError>;
}

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeOwner<'a> {
    Environment,
    Module(&'a str),
}

#[derive(Debug, Clone)]
pub struct CodeModule {
    pub name: Arc<str>,
    /// Where it is, for `module_directory` and messages.
    pub path: Arc<str>,
    /// The modules that its metadata names, without their owners; `None`: it has no metadata and sees
    /// all.
    pub dependencies: Option<Vec<Arc<str>>>,
}

/// A file as it was read.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// The path that messages show.
    pub path: Arc<str>,
    pub bytes: Arc<[u8]>,
}

/// A file is there and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {path}: {cause}")]
pub struct CodeReadError {
    pub path: String,
    pub cause: String,
}
