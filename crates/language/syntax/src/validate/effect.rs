//! Expressions without effect: [`idle`], and the positions where they are refused.

use super::AstValidator;
use crate::ast::labels::with_capital_article;
use crate::ast::{Ast, AstSlice, BinaryOp, Expr, ExprId};
use crate::diagnostic::Diagnostic;
use crate::parser::hints::removed_word;

/// For each expression: true if it only returns a value and has no effect. Children come before
/// their parents in the arena, so one pass is enough.
pub(super) fn idle(ast: &Ast) -> Vec<bool> {
    let mut idle: Vec<bool> = Vec::with_capacity(ast.len());
    for id in ast.ids() {
        let known = |id: ExprId| idle.get(id.index()).copied().unwrap_or(true);
        let maybe = |id: Option<ExprId>| id.is_none_or(known);
        let one = match ast.expr(id) {
            Expr::Binary { op, .. } => !matches!(op, BinaryOp::Match | BinaryOp::NoMatch),
            Expr::Paren(inner) => known(inner),
            Expr::Block(list) => ast.get(list).iter().copied().all(known),
            Expr::If {
                test,
                then,
                otherwise,
            }
            | Expr::Unless {
                test,
                then,
                otherwise,
            } => known(test) && maybe(then) && maybe(otherwise),
            Expr::Case { test, options } => {
                known(test)
                    && ast.get(options).iter().all(|option| {
                        ast.get(option.values).iter().copied().all(known) && maybe(option.then)
                    })
            }
            Expr::Assign { .. }
            | Expr::Relationship { .. }
            | Expr::Call(_)
            | Expr::MethodCall(_)
            | Expr::Resource(_)
            | Expr::ResourceDefaults { .. }
            | Expr::ResourceOverride { .. }
            | Expr::Collect(_)
            | Expr::Definition(_)
            | Expr::Apply { .. }
            | Expr::RenderString(_)
            | Expr::RenderExpr(_) => false,
            _ => true,
        };
        idle.push(one);
    }
    idle
}

impl AstValidator<'_> {
    fn is_idle(&self, id: ExprId) -> bool {
        self.idle.get(id.index()).copied().unwrap_or(false)
    }

    /// Only the last statement of a block may have no effect.
    pub(super) fn block(&mut self, id: ExprId, statements: AstSlice<ExprId>) {
        if let Some(name) = self.titleless(id) {
            let message = format!(
                "This expression is invalid. Did you try declaring a '{name}' resource without a \
                 title?"
            );
            return self.error("RESOURCE_WITHOUT_TITLE", self.ast.span(id), message);
        }
        let statements = self.ast.get(statements);
        let idle = statements
            .windows(2)
            .find(|pair| self.is_idle(pair[0]))
            .map(|pair| (pair[0], pair[1]));
        if let Some((id, next)) = idle {
            self.report_idle(id, next);
        }
    }

    fn report_idle(&mut self, id: ExprId, next: ExprId) {
        let message = format!(
            "This {} has no effect. A value was produced and then forgotten (one or more preceding \
             expressions may have the wrong form)",
            self.ast.label(id)
        );
        let mut fault = Diagnostic::error("IDEM_EXPRESSION_NOT_LAST", self.ast.span(id), message);
        if let Expr::QName(name) = self.ast.expr(id) {
            let help = format!("to call a function write `{}(…)`", self.ast.text(name));
            fault = fault.with_help(help);
        }
        // `Foo produces Bar { }` without applications
        if let (Expr::QRef(_), Expr::QName(word)) = (self.ast.expr(id), self.ast.expr(next))
            && matches!(&**self.ast.text(word), "produces" | "consumes")
        {
            fault = fault.with_help(removed_word(self.ast.text(word)));
        }
        self.report(fault);
    }

    /// `name { a => 1 }`, the only construct that results in a block of a name and a hash.
    fn titleless(&self, id: ExprId) -> Option<&str> {
        let Expr::Block(list) = self.ast.expr(id) else {
            return None;
        };
        let [name, hash] = self.ast.get(list) else {
            return None;
        };
        match (self.ast.expr(*name), self.ast.expr(*hash)) {
            (Expr::QName(name), Expr::Hash(_)) if !self.tasks => Some(self.ast.text(name)),
            _ => None,
        }
    }

    /// The last statement of a class, define or node must have an effect.
    pub(super) fn no_idle_end(&mut self, body: Option<ExprId>, container: &str) {
        let Some(body) = body else {
            return;
        };
        let last = match self.ast.expr(body) {
            Expr::Block(list) if self.titleless(body).is_none() => {
                self.ast.get(list).last().copied().unwrap_or(body)
            }
            _ => body,
        };
        if !self.is_idle(last) || self.titleless(last).is_some() {
            return;
        }
        let message = format!(
            "This {} has no effect. {} can not end with a value-producing expression without other \
             effect",
            self.ast.label(last),
            with_capital_article(container)
        );
        self.error("IDEM_NOT_ALLOWED_LAST", self.ast.span(last), message);
    }
}
