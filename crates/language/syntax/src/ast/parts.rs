//! The parts of expressions that are no expressions themselves: entries, options, attributes,
//! parameters, lambdas, calls, collectors.

use super::{AttributeOpKind, ExprId, ResourceForm, Slice, Sym};
use crate::Span;

/// `key => value` of a hash. Its span is the arrow, where Puppet points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HashEntry {
    pub key: ExprId,
    pub value: ExprId,
    pub span: Span,
}

/// `a, b: { … }` of a case; `default` is an [`Expr::Default`](super::Expr::Default) among the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CaseOption {
    pub values: Slice<ExprId>,
    /// The body; none where the braces are empty.
    pub then: Option<ExprId>,
    /// From the colon to the closing brace.
    pub span: Span,
}

/// `match => value` of a selector. Its span is the arrow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelectorEntry {
    pub matching: ExprId,
    pub value: ExprId,
    pub span: Span,
}

/// `name => value`, `name +> value` or `* => hash`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttributeOp {
    pub kind: AttributeOpKind,
    /// None for the splat.
    pub name: Option<Sym>,
    pub value: ExprId,
    pub span: Span,
}

/// `title: attributes` of a resource expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResourceBody {
    /// May give a list of titles, or be `default`: then the body holds attributes for the others.
    pub title: ExprId,
    pub ops: Slice<AttributeOp>,
}

/// `type { bodies }`
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resource {
    pub form: ResourceForm,
    /// A name (`file`, `class` included), a type, or any expression that gives one.
    pub type_name: ExprId,
    pub bodies: Slice<ResourceBody>,
}

/// `Type <| query |> { ops }`
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Collect {
    pub type_expr: ExprId,
    /// `<<| |>>`
    pub exported: bool,
    /// None: everything.
    pub query: Option<ExprId>,
    pub query_span: Span,
    pub ops: Slice<AttributeOp>,
}

/// A call, of a function or of a method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// Of a function: a [`QName`](super::Expr::QName), or a type (`Integer('3')`). Of a method: the
    /// [`NamedAccess`](super::Expr::NamedAccess), receiver and name.
    pub functor: ExprId,
    pub args: Slice<ExprId>,
    pub lambda: Option<LambdaId>,
    /// Is the value asked for? A call that stands as a statement has no use for it.
    pub rvalue: bool,
}

/// `|params| >> Type { body }`
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lambda {
    pub params: Slice<Param>,
    pub return_type: Option<ExprId>,
    pub body: Option<ExprId>,
    pub span: Span,
}

/// A parameter of a definition, a lambda or an EPP template.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Param {
    pub name: Sym,
    pub type_expr: Option<ExprId>,
    pub default: Option<ExprId>,
    /// `*$rest`
    pub captures_rest: bool,
    /// The variable.
    pub span: Span,
    /// The whole text of the type, for people; empty where there is none.
    pub type_text: Span,
    /// The whole text of the default, for people; empty where there is none.
    pub default_text: Span,
}

/// Index of a [`Call`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallId(pub(super) u32);

/// Index of a [`Resource`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResourceId(pub(super) u32);

/// Index of a [`Collect`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CollectId(pub(super) u32);

/// Index of a [`Lambda`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LambdaId(pub(super) std::num::NonZeroU32);
