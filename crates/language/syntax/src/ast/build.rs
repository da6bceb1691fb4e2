//! [`Builder`], with which the parser fills the arena.
//!
//! Invariant: a node does not change once another node refers to it, except for properties that a
//! later token determines (the lambda of a call, the form of a resource).

use std::sync::Arc;

use super::{
    Ast, AstSlice, CallExpr, CallId, CollectId, CollectorExpr, Definition, DefinitionId,
    EppProperties, Expr, ExprId, Lambda, LambdaId, Pooled, ResourceExpr, ResourceId, next_id,
};
use crate::comments::Comment;
use crate::source::as_u32;
use crate::{SourceSpan, SourceText};

/// An [`Ast`] under construction.
#[derive(Debug)]
pub(crate) struct Builder {
    ast: Ast,
}

impl Builder {
    pub(crate) fn new(source: Arc<SourceText>) -> Self {
        let ast = Ast {
            source,
            exprs: Vec::new(),
            spans: Vec::new(),
            texts: Vec::new(),
            lists: Vec::new(),
            hash_entries: Vec::new(),
            case_options: Vec::new(),
            selector_entries: Vec::new(),
            attribute_ops: Vec::new(),
            resource_bodies: Vec::new(),
            params: Vec::new(),
            calls: Vec::new(),
            lambdas: Vec::new(),
            resources: Vec::new(),
            collects: Vec::new(),
            definitions: Vec::new(),
            comments: Vec::new(),
            body: None,
            epp: None,
        };
        Self { ast }
    }

    /// Completes the tree: adds its texts and shrinks its tables to their contents.
    pub(crate) fn finish(
        self,
        texts: Vec<Arc<str>>,
        comments: Vec<Comment>,
        body: Option<ExprId>,
        epp: Option<EppProperties>,
    ) -> Ast {
        let mut ast = Ast {
            texts,
            comments,
            body,
            epp,
            ..self.ast
        };
        ast.exprs.shrink_to_fit();
        ast.spans.shrink_to_fit();
        ast.texts.shrink_to_fit();
        ast.lists.shrink_to_fit();
        ast.hash_entries.shrink_to_fit();
        ast.attribute_ops.shrink_to_fit();
        ast.resource_bodies.shrink_to_fit();
        ast.params.shrink_to_fit();
        ast.comments.shrink_to_fit();
        ast
    }

    pub(crate) fn push(&mut self, expr: Expr, span: SourceSpan) -> ExprId {
        let id = ExprId(next_id(self.ast.exprs.len()));
        self.ast.exprs.push(expr);
        self.ast.spans.push(span);
        id
    }

    pub(crate) fn list<T: Pooled>(&mut self, members: impl IntoIterator<Item = T>) -> AstSlice<T> {
        let pool = T::pool_mut(&mut self.ast);
        let start = pool.len();
        pool.extend(members);
        AstSlice::new(as_u32(start), as_u32(pool.len() - start))
    }

    pub(crate) fn call(&mut self, call: CallExpr) -> CallId {
        self.ast.calls.push(call);
        CallId(as_u32(self.ast.calls.len() - 1))
    }

    pub(crate) fn call_mut(&mut self, id: CallId) -> &mut CallExpr {
        &mut self.ast.calls[id.0 as usize]
    }

    pub(crate) fn lambda(&mut self, lambda: Lambda) -> LambdaId {
        let id = LambdaId(next_id(self.ast.lambdas.len()));
        self.ast.lambdas.push(lambda);
        id
    }

    pub(crate) fn resource(&mut self, resource: ResourceExpr) -> ResourceId {
        self.ast.resources.push(resource);
        ResourceId(as_u32(self.ast.resources.len() - 1))
    }

    pub(crate) fn resource_mut(&mut self, id: ResourceId) -> &mut ResourceExpr {
        &mut self.ast.resources[id.0 as usize]
    }

    pub(crate) fn collect(&mut self, collect: CollectorExpr) -> CollectId {
        self.ast.collects.push(collect);
        CollectId(as_u32(self.ast.collects.len() - 1))
    }

    pub(crate) fn definition(&mut self, definition: Definition) -> DefinitionId {
        self.ast.definitions.push(definition);
        DefinitionId(as_u32(self.ast.definitions.len() - 1))
    }

    pub(crate) fn ast(&self) -> &Ast {
        &self.ast
    }

    pub(crate) fn set(&mut self, id: ExprId, expr: Expr) {
        self.ast.exprs[super::index(id.0)] = expr;
    }

    pub(crate) fn set_span(&mut self, id: ExprId, span: SourceSpan) {
        self.ast.spans[super::index(id.0)] = span;
    }
}
