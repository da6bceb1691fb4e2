//! A part of the tree that validation visits: [`AstPart`].

use crate::ast::{
    AttributeOp, CaseOption, ExprId, HashEntry, LambdaId, Param, ResourceBody, SelectorEntry,
};

/// A part of the tree: an expression, or one of its components.
#[derive(Debug, Clone, Copy)]
pub(super) enum AstPart {
    Expr(ExprId),
    Lambda(LambdaId),
    Param(Param),
    Entry(HashEntry),
    Option(CaseOption),
    Selection(SelectorEntry),
    Body(ResourceBody),
    Op(AttributeOp),
    /// The query of a collector.
    Query(ExprId),
}
