//! Functions written in Rust: what they take, and how a call finds the form that fits. Main types:
//! [`FunctionSpec`] describes one, [`NativeFunction`] is one that is ready to be called.
//!
//! The texts for calls that fit no form are made from the forms, by pcore's describer. The rule that must
//! hold: a form's function is only run with arguments that its parameters accept.

mod arguments;
mod dispatch;
mod registry;

use std::sync::OnceLock;

use pcore::{Type, Value};

pub use self::arguments::CallArguments;
pub(crate) use self::registry::{core, core_names};
use crate::Evaluator;
use crate::error::Eval;

/// A function and the forms that it can be called in.
#[derive(Debug, Clone, Copy)]
pub struct FunctionSpec {
    pub name: &'static str,
    /// Tried in this order.
    pub forms: &'static [Dispatch],
    /// Types that the forms name, with what they stand for.
    pub local_types: &'static [(&'static str, &'static str)],
}

/// One form of a function.
#[derive(Debug, Clone, Copy)]
pub struct Dispatch {
    pub parameters: &'static [DispatchParameter],
    pub block: BlockParameter,
    pub returns: Option<&'static str>,
    pub run: DispatchBody,
}

/// What a form does.
#[derive(Debug, Clone, Copy)]
pub enum DispatchBody {
    /// Gives the value.
    Call(fn(&mut Evaluator<'_>, CallArguments<'_>) -> Eval),
    /// Asks [`Host::run`](crate::Host::run), which knows what is around the evaluation.
    Host,
    /// Says what is wrong with arguments that fit no other form.
    Mismatch(fn(&[Value]) -> String),
}

/// A parameter of a form.
#[derive(Debug, Clone, Copy)]
pub struct DispatchParameter {
    pub name: &'static str,
    /// A type expression.
    pub ty: &'static str,
    pub count: ParameterCount,
}

/// How many arguments a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterCount {
    One,
    AtMostOne,
    Any,
    AtLeastOne,
}

/// The block of a form: a `Callable`, or `""` for any.
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

impl Dispatch {
    pub const fn new(
        parameters: &'static [DispatchParameter],
        run: fn(&mut Evaluator<'_>, CallArguments<'_>) -> Eval,
    ) -> Self {
        Self {
            parameters,
            block: BlockParameter::None,
            returns: None,
            run: DispatchBody::Call(run),
        }
    }

    /// A form that the host carries out.
    pub const fn host(parameters: &'static [DispatchParameter]) -> Self {
        Self {
            parameters,
            block: BlockParameter::None,
            returns: None,
            run: DispatchBody::Host,
        }
    }

    /// The form of arguments that fit no other, with what is to be said of them.
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
    pub const fn new(name: &'static str, forms: &'static [Dispatch]) -> Self {
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

/// A function with the types of its forms, which are made when it is first called.
#[derive(Debug)]
pub struct NativeFunction {
    function: FunctionSpec,
    forms: OnceLock<Vec<TypedDispatch>>,
}

/// A form whose types are made.
#[derive(Debug)]
struct TypedDispatch {
    types: Vec<Type>,
    least: usize,
    most: Option<usize>,
    block: TypedBlock,
    returns: Option<Type>,
    /// The form as a type, for the texts of mismatches.
    callable: Type,
}

#[derive(Debug)]
enum TypedBlock {
    None,
    /// Any block; `bool`: it must be there.
    Any(bool),
    /// A block that takes so many arguments.
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

    /// Whether the host carries it out.
    pub(crate) fn is_of_host(&self) -> bool {
        let mut forms = self.function.forms.iter();
        forms.any(|form| matches!(form.run, DispatchBody::Host))
    }
}
