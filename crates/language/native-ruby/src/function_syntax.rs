//! Syntax of the file of a function for Puppet 4: [`RubyDispatch`] and [`RubyMethod`].

use std::sync::Arc;

use crate::syntax::{Body, Expr, Slot};

/// Parameters for which a function has an implementation. The first dispatch that takes the arguments of a
/// call is used.
#[derive(Debug)]
pub(crate) struct RubyDispatch {
    pub(crate) method: String,
    pub(crate) parameters: Vec<RubyParameter>,
    /// Type of the result, in Puppet's notation; `None` if it is not checked.
    pub(crate) return_type: Option<String>,
}

#[derive(Debug)]
pub(crate) struct RubyParameter {
    /// Type in Puppet's notation.
    pub(crate) type_text: String,
    pub(crate) kind: RubyParameterKind,
}

/// How many arguments a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RubyParameterKind {
    Required,
    Optional,
    /// Any number; it is the last one.
    Repeated,
    /// One or more; it is the last one.
    RequiredRepeated,
}

/// A method of a function's object.
#[derive(Debug)]
pub(crate) struct RubyMethod {
    pub(crate) name: Arc<str>,
    /// Variables of the parameters, with the defaults of optional ones.
    pub(crate) parameters: Vec<(Slot, Option<Expr>)>,
    /// Variable of all further arguments.
    pub(crate) rest: Option<Slot>,
    pub(crate) body: Body,
    pub(crate) locals: usize,
}

// === impl RubyDispatch ===

impl RubyDispatch {
    /// The dispatch of a function that has none: any values, as many as its method takes.
    pub(crate) fn of_method(method: &RubyMethod) -> Self {
        let of_kind = |kind| RubyParameter {
            type_text: "Any".to_owned(),
            kind,
        };
        let named = method.parameters.iter().map(|(_, default)| match default {
            None => of_kind(RubyParameterKind::Required),
            Some(_) => of_kind(RubyParameterKind::Optional),
        });
        let rest = method.rest.map(|_| of_kind(RubyParameterKind::Repeated));
        Self {
            method: method.name.to_string(),
            parameters: named.chain(rest).collect(),
            return_type: None,
        }
    }
}
