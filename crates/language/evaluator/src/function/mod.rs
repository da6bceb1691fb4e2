//! Functions written in Rust: what they take, and how a call finds the form that fits. Main types:
//! [`Function`] describes one, [`Native`] is one that is ready to be called.
//!
//! The texts for calls that fit no form are made from the forms, by pcore's describer. The rule that must
//! hold: a form's function is only run with arguments that its parameters accept.

mod arguments;
mod dispatch;
mod registry;

use std::sync::OnceLock;

use pcore::{Type, Value};

pub use self::arguments::Call;
pub(crate) use self::registry::{core, core_names};
use crate::Evaluator;
use crate::error::Eval;

/// A function and the forms that it can be called in.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    pub name: &'static str,
    /// Tried in this order.
    pub forms: &'static [Form],
    /// Types that the forms name, with what they stand for.
    pub local_types: &'static [(&'static str, &'static str)],
}

/// One form of a function.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    pub parameters: &'static [Parameter],
    pub block: Block,
    pub returns: Option<&'static str>,
    pub run: Run,
}

/// What a form does.
#[derive(Debug, Clone, Copy)]
pub enum Run {
    /// Gives the value.
    Call(fn(&mut Evaluator<'_>, Call<'_>) -> Eval),
    /// Asks [`Host::run`](crate::Host::run), which knows what is around the evaluation.
    Host,
    /// Says what is wrong with arguments that fit no other form.
    Mismatch(fn(&[Value]) -> String),
}

/// A parameter of a form.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    pub name: &'static str,
    /// A type expression.
    pub ty: &'static str,
    pub count: Count,
}

/// How many arguments a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    One,
    AtMostOne,
    Any,
    AtLeastOne,
}

/// The block of a form: a `Callable`, or `""` for any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    None,
    Optional(&'static str),
    Required(&'static str),
}

pub const fn one(ty: &'static str, name: &'static str) -> Parameter {
    parameter(ty, name, Count::One)
}

pub const fn optional(ty: &'static str, name: &'static str) -> Parameter {
    parameter(ty, name, Count::AtMostOne)
}

pub const fn any(ty: &'static str, name: &'static str) -> Parameter {
    parameter(ty, name, Count::Any)
}

pub const fn some(ty: &'static str, name: &'static str) -> Parameter {
    parameter(ty, name, Count::AtLeastOne)
}

const fn parameter(ty: &'static str, name: &'static str, count: Count) -> Parameter {
    Parameter { name, ty, count }
}

impl Form {
    pub const fn new(
        parameters: &'static [Parameter],
        run: fn(&mut Evaluator<'_>, Call<'_>) -> Eval,
    ) -> Self {
        Self {
            parameters,
            block: Block::None,
            returns: None,
            run: Run::Call(run),
        }
    }

    /// A form that the host carries out.
    pub const fn host(parameters: &'static [Parameter]) -> Self {
        Self {
            parameters,
            block: Block::None,
            returns: None,
            run: Run::Host,
        }
    }

    /// The form of arguments that fit no other, with what is to be said of them.
    pub const fn mismatch(parameters: &'static [Parameter], say: fn(&[Value]) -> String) -> Self {
        Self {
            parameters,
            block: Block::Optional(""),
            returns: None,
            run: Run::Mismatch(say),
        }
    }

    #[must_use]
    pub const fn with_block(mut self, callable: &'static str) -> Self {
        self.block = Block::Required(callable);
        self
    }

    #[must_use]
    pub const fn with_optional_block(mut self, callable: &'static str) -> Self {
        self.block = Block::Optional(callable);
        self
    }

    #[must_use]
    pub const fn returning(mut self, ty: &'static str) -> Self {
        self.returns = Some(ty);
        self
    }
}

impl Function {
    pub const fn new(name: &'static str, forms: &'static [Form]) -> Self {
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
pub struct Native {
    function: Function,
    forms: OnceLock<Vec<Ready>>,
}

/// A form whose types are made.
#[derive(Debug)]
struct Ready {
    types: Vec<Type>,
    least: usize,
    most: Option<usize>,
    block: ReadyBlock,
    returns: Option<Type>,
    /// The form as a type, for the texts of mismatches.
    callable: Type,
}

#[derive(Debug)]
enum ReadyBlock {
    None,
    /// Any block; `bool`: it must be there.
    Any(bool),
    /// A block that takes so many arguments.
    Arity(usize, bool),
    Callable(Type, bool),
}

impl Native {
    pub const fn new(function: Function) -> Self {
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
        forms.any(|form| matches!(form.run, Run::Host))
    }
}
