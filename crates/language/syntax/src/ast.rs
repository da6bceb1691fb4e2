//! The tree of one file: [`Ast`], an arena of [`Expr`]s, and the parts of expressions.
//!
//! An [`ExprId`] is an index; [`Ast::expr`] copies the 16 bytes of its node. Lists are
//! [`AstSlice`]s, read by [`Ast::get`]; texts are [`Sym`]s, read by [`Ast::text`] as `&Arc<str>`,
//! each different text once per file. Everything that is not an expression (parameters, attributes,
//! lambdas, definitions) has a table of its own.
//!
//! Invariants: the tree never changes after parsing and can be shared between threads. Literals are
//! parsed, escapes and heredoc margins are removed, statement calls (`notice 'x'`) are calls, and
//! the names of nested classes are qualified. [`Ast::span`] is the position that Puppet's messages
//! report (the operator of `1 + 2`).

mod applications;
mod build;
mod components;
mod definitions;
pub mod labels;
mod ops;
mod pool;

use std::num::NonZeroU32;
use std::sync::Arc;

pub use self::applications::{CapabilityMapping, CapabilityRole, SiteDefinition};
pub(crate) use self::build::Builder;
pub use self::components::{
    AttributeOp, CallExpr, CallId, CaseOption, CollectId, CollectorExpr, HashEntry, Lambda,
    LambdaId, Param, ResourceBody, ResourceExpr, ResourceId, SelectorEntry,
};
pub use self::definitions::{
    ClassDefinition, Definition, DefinitionBody, DefinitionId, DefinitionKind, NodeDefinition,
    TypeAlias, TypeDefinition, TypeMapping,
};
pub use self::ops::{AssignOp, AttributeOpKind, BinaryOp, EdgeOp, ResourceForm, UnaryOp};
pub use self::pool::{AstSlice, Pooled};
use crate::comments::Comment;
use crate::source::as_u32;
use crate::{SourcePosition, SourceSpan, SourceText};

/// Index of an expression in its file's arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(NonZeroU32);

/// A text of the file, interned: equal texts of one file have equal symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sym(NonZeroU32);

/// An expression; every construct of the language is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expr {
    /// Nothing: an empty file.
    Nop,
    Undef,
    Default,
    Bool(bool),
    Int {
        value: i64,
        /// Base in which the number was written: 8, 10 or 16.
        radix: u8,
    },
    Float(f64),
    /// Text without interpolation: quoted text, a bare word like `b-c`, or the text of a heredoc.
    Str(Sym),
    /// A bare name: `file`, `foo::bar`, `::foo`.
    QName(Sym),
    /// A type name as written: `String`, `Foo::Bar`, `::Foo`.
    QRef(Sym),
    /// A variable's name without `$`; `::x` keeps its colons.
    Variable(Sym),
    /// The source of a regular expression, without slashes, `\/` unescaped.
    Regex(Sym),
    /// The reserved words `private` and `attr`, which are parsed only to be refused.
    Reserved(Sym),
    /// `"a${b}c"`: [`Expr::Str`]s, never empty, and [`Expr::Text`]s.
    Concat(AstSlice<ExprId>),
    /// An interpolated expression inside a string; names before `.` and `[` are variables already.
    Text(ExprId),
    /// `@(TAG:syntax)`; the text is an [`Expr::Str`] or [`Expr::Concat`].
    Heredoc {
        syntax: Option<Sym>,
        text: ExprId,
    },
    Array(AstSlice<ExprId>),
    Hash(AstSlice<HashEntry>),
    Paren(ExprId),
    Unary {
        op: UnaryOp,
        operand: ExprId,
    },
    Binary {
        op: BinaryOp,
        left: ExprId,
        right: ExprId,
    },
    Assign {
        op: AssignOp,
        left: ExprId,
        right: ExprId,
    },
    Relationship {
        op: EdgeOp,
        left: ExprId,
        right: ExprId,
    },
    /// `left[keys]`
    Access {
        left: ExprId,
        keys: AstSlice<ExprId>,
    },
    /// `left.name`, the functor of a method call; the name is an [`Expr::QName`].
    NamedAccess {
        left: ExprId,
        name: ExprId,
    },
    Call(CallId),
    MethodCall(CallId),
    If {
        test: ExprId,
        then: Option<ExprId>,
        /// An `elsif` is an [`Expr::If`] here.
        otherwise: Option<ExprId>,
    },
    Unless {
        test: ExprId,
        then: Option<ExprId>,
        otherwise: Option<ExprId>,
    },
    Case {
        test: ExprId,
        options: AstSlice<CaseOption>,
    },
    Selector {
        left: ExprId,
        entries: AstSlice<SelectorEntry>,
    },
    /// Two or more statements; a body of one is that one.
    Block(AstSlice<ExprId>),
    Resource(ResourceId),
    /// `File { mode => … }`
    ResourceDefaults {
        form: ResourceForm,
        type_ref: ExprId,
        ops: AstSlice<AttributeOp>,
    },
    /// `File['/x'] { mode => … }`
    ResourceOverride {
        form: ResourceForm,
        resources: ExprId,
        ops: AstSlice<AttributeOp>,
    },
    Collect(CollectId),
    Definition(DefinitionId),
    /// `apply(targets) { … }` of a plan.
    Apply {
        args: AstSlice<ExprId>,
        /// `None` if the braces are empty.
        body: Option<ExprId>,
    },
    /// Text of an EPP template.
    RenderString(Sym),
    /// `<%= … %>`
    RenderExpr(ExprId),
}

/// The properties of an EPP template besides its body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EppProperties {
    pub params: AstSlice<Param>,
    /// True if the template has a parameter section `<%- | … | -%>`, even an empty one.
    pub params_given: bool,
}

/// The tree of one file, immutable after parsing.
#[derive(Debug)]
pub struct Ast {
    source: Arc<SourceText>,
    exprs: Vec<Expr>,
    spans: Vec<SourceSpan>,
    texts: Vec<Arc<str>>,
    lists: Vec<ExprId>,
    hash_entries: Vec<HashEntry>,
    case_options: Vec<CaseOption>,
    selector_entries: Vec<SelectorEntry>,
    attribute_ops: Vec<AttributeOp>,
    resource_bodies: Vec<ResourceBody>,
    params: Vec<Param>,
    calls: Vec<CallExpr>,
    lambdas: Vec<Lambda>,
    resources: Vec<ResourceExpr>,
    collects: Vec<CollectorExpr>,
    definitions: Vec<Definition>,
    comments: Vec<Comment>,
    body: Option<ExprId>,
    epp: Option<EppProperties>,
}

// === impl Ast: reading ===

impl Ast {
    /// The body of the file: one expression, [`Expr::Block`] for several, or `None` if the file is
    /// empty.
    pub fn body(&self) -> Option<ExprId> {
        self.body
    }

    /// The template's properties, if the source was read as an EPP template.
    pub fn epp(&self) -> Option<&EppProperties> {
        self.epp.as_ref()
    }

    pub fn source(&self) -> &Arc<SourceText> {
        &self.source
    }

    /// All comments in the order of the file.
    pub fn comments(&self) -> &[Comment] {
        &self.comments
    }

    pub fn expr(&self, id: ExprId) -> Expr {
        self.exprs[index(id.0)]
    }

    /// The position that Puppet's messages about this expression report.
    pub fn span(&self, id: ExprId) -> SourceSpan {
        self.spans[index(id.0)]
    }

    /// Line and column of [`span`](Self::span)'s start.
    pub fn position(&self, id: ExprId) -> SourcePosition {
        self.source.position(self.span(id).start)
    }

    pub fn text(&self, sym: Sym) -> &Arc<str> {
        &self.texts[index(sym.0)]
    }

    /// The members of a list, in the order of the source.
    pub fn get<T: Pooled>(&self, slice: AstSlice<T>) -> &[T] {
        &T::pool(self)[slice.range()]
    }

    pub fn call(&self, id: CallId) -> &CallExpr {
        &self.calls[id.0 as usize]
    }

    pub fn lambda(&self, id: LambdaId) -> &Lambda {
        &self.lambdas[index(id.0)]
    }

    pub fn resource(&self, id: ResourceId) -> &ResourceExpr {
        &self.resources[id.0 as usize]
    }

    pub fn collect(&self, id: CollectId) -> &CollectorExpr {
        &self.collects[id.0 as usize]
    }

    pub fn definition(&self, id: DefinitionId) -> &Definition {
        &self.definitions[id.0 as usize]
    }

    /// The statements of a body: those of a block, or the one expression.
    pub fn statements(&self, body: Option<ExprId>) -> Vec<ExprId> {
        match body.map(|id| (id, self.expr(id))) {
            None => Vec::new(),
            Some((_, Expr::Block(list))) => self.get(list).to_vec(),
            Some((id, _)) => vec![id],
        }
    }

    /// Iterates over every expression, children before their parents.
    pub fn ids(&self) -> impl Iterator<Item = ExprId> + use<> {
        (0..self.exprs.len()).map(|at| ExprId(next_id(at)))
    }

    /// Bytes of memory that the tree takes, including texts but not the source, for `parse_speed`.
    pub fn heap_bytes(&self) -> usize {
        fn table<T>(table: &Vec<T>) -> usize {
            table.capacity() * size_of::<T>()
        }
        // an `Arc<str>` has two counters before its text
        let texts: usize = self.texts.iter().map(|text| text.len() + 16).sum();
        texts
            + table(&self.exprs)
            + table(&self.spans)
            + table(&self.texts)
            + table(&self.lists)
            + table(&self.hash_entries)
            + table(&self.case_options)
            + table(&self.selector_entries)
            + table(&self.attribute_ops)
            + table(&self.resource_bodies)
            + table(&self.params)
            + table(&self.calls)
            + table(&self.lambdas)
            + table(&self.resources)
            + table(&self.collects)
            + table(&self.definitions)
            + table(&self.comments)
    }

    /// Number of expressions in the tree.
    pub fn len(&self) -> usize {
        self.exprs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.exprs.is_empty()
    }
}

impl Sym {
    pub(crate) fn new(id: NonZeroU32) -> Self {
        Self(id)
    }

    /// Position in the order of first occurrence, so that symbols can index a table of the
    /// evaluator.
    #[must_use]
    pub fn index(self) -> usize {
        index(self.0)
    }
}

impl ExprId {
    /// Position in the arena, so that expressions can index a table of the evaluator.
    #[must_use]
    pub fn index(self) -> usize {
        index(self.0)
    }
}

fn index(id: NonZeroU32) -> usize {
    id.get() as usize - 1
}

fn next_id(len: usize) -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(as_u32(len))
}

const _: () = assert!(size_of::<Expr>() == 16);
