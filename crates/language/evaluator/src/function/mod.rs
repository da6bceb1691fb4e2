//! Functions written in Rust: their dispatches, and the choice of the dispatch for a call. Main types:
//! [`FunctionSpec`] describes a function, [`NativeFunction`] can be called.
//!
//! The error for a call that no dispatch accepts is generated from the dispatches by pcore's describer.
//! Invariant: the body of a dispatch runs only with arguments that its parameters accept.

mod arguments;
mod dispatch;
mod documentation;
mod registry;

use std::sync::OnceLock;

use pcore::{Type, Value};

pub use self::arguments::CallArguments;
pub use self::documentation::{ExampleOutcome, FunctionDoc, documentation_faults};
pub use self::registry::{core_docs, core_functions};
use crate::Evaluator;
use crate::error::EvalResult;

/// Description of a function: its name and its dispatches.
#[derive(Debug, Clone, Copy)]
pub struct FunctionSpec {
    pub name: &'static str,
    /// Dispatches in the order in which they are tried.
    pub forms: &'static [FunctionDispatch],
    /// Type aliases local to the dispatches: name and type expression.
    pub local_types: &'static [(&'static str, &'static str)],
}

/// One signature of a function with its body, as `dispatch` of Puppet's Ruby API declares it.
#[derive(Debug, Clone, Copy)]
pub struct FunctionDispatch {
    pub parameters: &'static [DispatchParameter],
    pub block: BlockParameter,
    pub returns: Option<&'static str>,
    pub run: DispatchBody,
}

/// Body of a dispatch.
#[derive(Debug, Clone, Copy)]
pub enum DispatchBody {
    /// Computes the value.
    Call(fn(&mut Evaluator<'_>, CallArguments<'_>) -> EvalResult),
    /// Calls [`EvaluationHost::run`](crate::EvaluationHost::run), for functions that need the host.
    Host,
    /// Returns the error text for arguments that no other dispatch accepts.
    Mismatch(fn(&[Value]) -> String),
}

/// A parameter of a dispatch.
#[derive(Debug, Clone, Copy)]
pub struct DispatchParameter {
    pub name: &'static str,
    /// Puppet type expression, such as `Optional[String]`.
    pub ty: &'static str,
    pub count: ParameterCount,
}

/// Number of arguments that a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterCount {
    One,
    AtMostOne,
    Any,
    AtLeastOne,
}

/// The block of a dispatch, with its type: a `Callable` expression, or `""` for any block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockParameter {
    None,
    Optional(&'static str),
    Required(&'static str),
}

pub const fn one(ty: &'static str, name: &'static str) -> DispatchParameter {
    parameter(ty, name, ParameterCount::One)
}

pub const fn optional(ty: &'static str, name: &'static str) -> DispatchParameter {
    parameter(ty, name, ParameterCount::AtMostOne)
}

pub const fn any(ty: &'static str, name: &'static str) -> DispatchParameter {
    parameter(ty, name, ParameterCount::Any)
}

pub const fn some(ty: &'static str, name: &'static str) -> DispatchParameter {
    parameter(ty, name, ParameterCount::AtLeastOne)
}

const fn parameter(
    ty: &'static str,
    name: &'static str,
    count: ParameterCount,
) -> DispatchParameter {
    DispatchParameter { name, ty, count }
}

impl FunctionDispatch {
    pub const fn new(
        parameters: &'static [DispatchParameter],
        run: fn(&mut Evaluator<'_>, CallArguments<'_>) -> EvalResult,
    ) -> Self {
        Self {
            parameters,
            block: BlockParameter::None,
            returns: None,
            run: DispatchBody::Call(run),
        }
    }

    /// A dispatch that the host runs.
    pub const fn host(parameters: &'static [DispatchParameter]) -> Self {
        Self {
            parameters,
            block: BlockParameter::None,
            returns: None,
            run: DispatchBody::Host,
        }
    }

    /// A dispatch for arguments that no other accepts; `say` returns the error text.
    pub const fn mismatch(
        parameters: &'static [DispatchParameter],
        say: fn(&[Value]) -> String,
    ) -> Self {
        Self {
            parameters,
            block: BlockParameter::Optional(""),
            returns: None,
            run: DispatchBody::Mismatch(say),
        }
    }

    #[must_use]
    pub const fn with_block(mut self, callable: &'static str) -> Self {
        self.block = BlockParameter::Required(callable);
        self
    }

    #[must_use]
    pub const fn with_optional_block(mut self, callable: &'static str) -> Self {
        self.block = BlockParameter::Optional(callable);
        self
    }

    #[must_use]
    pub const fn returning(mut self, ty: &'static str) -> Self {
        self.returns = Some(ty);
        self
    }
}

impl FunctionSpec {
    pub const fn new(name: &'static str, forms: &'static [FunctionDispatch]) -> Self {
        Self {
            name,
            forms,
            local_types: &[],
        }
    }

    #[must_use]
    pub const fn with_types(
        mut self,
        local_types: &'static [(&'static str, &'static str)],
    ) -> Self {
        self.local_types = local_types;
        self
    }
}

/// A callable function. The types of its dispatches are parsed at the first call.
#[derive(Debug)]
pub struct NativeFunction {
    function: FunctionSpec,
    forms: OnceLock<Vec<TypedDispatch>>,
}

/// A dispatch with parsed types.
#[derive(Debug)]
struct TypedDispatch {
    types: Vec<Type>,
    least: usize,
    most: Option<usize>,
    block: TypedBlock,
    returns: Option<Type>,
    /// Type of the dispatch, for mismatch errors.
    callable: Type,
}

#[derive(Debug)]
enum TypedBlock {
    None,
    /// Any block. In this and the following variants, the `bool` is true if the block is required.
    Any(bool),
    /// A block that accepts this number of arguments.
    Arity(usize, bool),
    Callable(Type, bool),
}

impl NativeFunction {
    pub const fn new(function: FunctionSpec) -> Self {
        Self {
            function,
            forms: OnceLock::new(),
        }
    }

    pub fn name(&self) -> &'static str {
        self.function.name
    }

    /// True if any dispatch is run by the host.
    pub(crate) fn is_of_host(&self) -> bool {
        let mut forms = self.function.forms.iter();
        forms.any(|form| matches!(form.run, DispatchBody::Host))
    }
}
