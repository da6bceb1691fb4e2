//! The parts of expressions that are not expressions themselves: entries, options, attributes,
//! parameters, lambdas, calls, collectors.

use super::{AstSlice, AttributeOpKind, ExprId, ResourceForm, Sym};
use crate::SourceSpan;

/// `key => value` of a hash. Its span is the arrow, the position that Puppet reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HashEntry {
    pub key: ExprId,
    pub value: ExprId,
    pub span: SourceSpan,
}

/// `a, b: { … }` of a case; `default` is an [`Expr::Default`](super::Expr::Default) among the
/// values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CaseOption {
    pub values: AstSlice<ExprId>,
    /// The body; `None` if the braces are empty.
    pub then: Option<ExprId>,
    /// The range from the colon to the closing brace.
    pub span: SourceSpan,
}

/// `match => value` of a selector. Its span is the arrow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelectorEntry {
    pub matching: ExprId,
    pub value: ExprId,
    pub span: SourceSpan,
}

/// `name => value`, `name +> value` or `* => hash`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttributeOp {
    pub kind: AttributeOpKind,
    /// The attribute's name; `None` for the splat.
    pub name: Option<Sym>,
    pub value: ExprId,
    pub span: SourceSpan,
}

/// `title: attributes` of a resource expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResourceBody {
    /// The title. It may evaluate to a list of titles, or be `default`; then the body holds the
    /// attributes of the other titles.
    pub title: ExprId,
    pub ops: AstSlice<AttributeOp>,
}

/// A resource expression, `type { bodies }`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResourceExpr {
    pub form: ResourceForm,
    /// A name (including `file` and `class`), a type, or any expression that evaluates to one.
    pub type_name: ExprId,
    pub bodies: AstSlice<ResourceBody>,
}

/// A collector, `Type <| query |> { ops }`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CollectorExpr {
    pub type_expr: ExprId,
    /// True for the form `<<| |>>`, which collects exported resources.
    pub exported: bool,
    /// The query; `None` collects everything.
    pub query: Option<ExprId>,
    pub query_span: SourceSpan,
    pub ops: AstSlice<AttributeOp>,
}

/// A call of a function or of a method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallExpr {
    /// For a function, a [`QName`](super::Expr::QName) or a type (`Integer('3')`). For a method,
    /// the [`NamedAccess`](super::Expr::NamedAccess) with receiver and name.
    pub functor: ExprId,
    pub args: AstSlice<ExprId>,
    pub lambda: Option<LambdaId>,
    /// True if the result is used; false if the call is a statement.
    pub rvalue: bool,
}

/// A lambda, `|params| >> Type { body }`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lambda {
    pub params: AstSlice<Param>,
    pub return_type: Option<ExprId>,
    pub body: Option<ExprId>,
    pub span: SourceSpan,
}

/// A parameter of a definition, a lambda or an EPP template.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Param {
    pub name: Sym,
    pub type_expr: Option<ExprId>,
    pub default: Option<ExprId>,
    /// True for a parameter of the form `*$rest`.
    pub captures_rest: bool,
    /// The span of the variable.
    pub span: SourceSpan,
    /// The whole text of the type, for display; empty if there is none.
    pub type_text: SourceSpan,
    /// The whole text of the default, for display; empty if there is none.
    pub default_text: SourceSpan,
}

/// Index of a [`CallExpr`] in its file's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallId(pub(super) u32);

/// Index of a [`ResourceExpr`] in its file's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResourceId(pub(super) u32);

/// Index of a [`CollectorExpr`] in its file's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CollectId(pub(super) u32);

/// Index of a [`Lambda`] in its file's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LambdaId(pub(super) std::num::NonZeroU32);
