//! Checks of values: operands, assignments, keys, conditions, calls, resources.

use super::{AstPart, AstValidator};
use crate::ast::labels::{with_article, with_capital_article};
use crate::ast::{
    AssignOp, Ast, AstSlice, AttributeOp, AttributeOpKind, BinaryOp, CallId, CaseOption, CollectId,
    Expr, ExprId, HashEntry, ResourceBody, ResourceForm, ResourceId, SelectorEntry,
};
use crate::diagnostic::Diagnostic;

/// For each expression: the collector or definition that it results in, which returns no value.
/// Children come before their parents in the arena, so one pass is enough.
pub(super) fn valueless(ast: &Ast) -> Vec<Option<ExprId>> {
    let mut valueless: Vec<Option<ExprId>> = Vec::with_capacity(ast.len());
    for id in ast.ids() {
        valueless.push(match ast.expr(id) {
            Expr::Unary { operand: inner, .. }
            | Expr::Paren(inner)
            | Expr::Text(inner)
            | Expr::RenderExpr(inner) => valueless.get(inner.index()).copied().flatten(),
            Expr::Collect(_) | Expr::Definition(_) => Some(id),
            _ => None,
        });
    }
    valueless
}

impl AstValidator<'_> {
    /// Checks that the expression returns a value: collectors and definitions return none.
    pub(super) fn gives_value(&mut self, id: ExprId) {
        let Some(id) = self.valueless.get(id.index()).copied().flatten() else {
            return;
        };
        let message = format!(
            "Invalid use of expression. {} does not produce a value",
            with_capital_article(&self.ast.label(id))
        );
        self.error("NOT_RVALUE", self.ast.span(id), message);
    }

    /// Checks an operand of a relationship arrow.
    pub(super) fn relates(&mut self, id: ExprId) {
        if !matches!(
            self.ast.expr(id),
            Expr::Collect(_) | Expr::Relationship { .. }
        ) {
            self.gives_value(id);
        }
    }

    pub(super) fn assignment(&mut self, id: ExprId, op: AssignOp, left: ExprId, right: ExprId) {
        if op == AssignOp::Set {
            self.check_assignable(left);
            return self.gives_value(right);
        }
        let message = format!(
            "The operator '{}' is no longer supported. See \
             http://links.puppet.com/remove-plus-equals",
            op.text()
        );
        self.error(
            "APPENDS_DELETES_NO_LONGER_SUPPORTED",
            self.ast.span(id),
            message,
        );
    }

    fn check_assignable(&mut self, left: ExprId) {
        let mut targets = vec![left];
        while let Some(id) = targets.pop() {
            match self.ast.expr(id) {
                Expr::Variable(name) => self.check_assignable_variable(id, self.ast.text(name)),
                Expr::Array(list) => targets.extend(self.ast.get(list).iter().rev()),
                Expr::Access { .. } => self.error(
                    "ILLEGAL_INDEXED_ASSIGNMENT",
                    self.ast.span(id),
                    "Illegal attempt to assign via [index/key]. Not an assignable reference",
                ),
                _ => {
                    let message = format!(
                        "Illegal attempt to assign to '{}'. Not an assignable reference",
                        with_article(&self.ast.label(id))
                    );
                    self.error("ILLEGAL_ASSIGNMENT", self.ast.span(id), message);
                }
            }
        }
    }

    fn check_assignable_variable(&mut self, id: ExprId, name: &str) {
        let span = self.ast.span(id);
        if super::names::is_match_variable(name) {
            let message = format!(
                "Illegal attempt to assign to the numeric match result variable '${name}'. Numeric \
                 variables are not assignable"
            );
            self.error("ILLEGAL_NUMERIC_ASSIGNMENT", span, message);
        }
        if name.contains("::") {
            let message = format!(
                "Illegal attempt to assign to '{name}'. Cannot assign to variables in other \
                 namespaces"
            );
            self.error("CROSS_SCOPE_ASSIGNMENT", span, message);
        }
    }

    pub(super) fn unique_keys(&mut self, entries: AstSlice<HashEntry>) {
        let entries = self.ast.get(entries);
        if entries.len() < 2 {
            return;
        }
        let mut seen = std::collections::HashMap::with_capacity(entries.len());
        for entry in entries {
            let Some(key) = self.literals().get(entry.key) else {
                continue;
            };
            if let Some(first) = seen.insert(key, entry.key) {
                let message = format!(
                    "The key '{}' is declared more than once",
                    self.literals().text(entry.key)
                );
                let fault = Diagnostic::error("DUPLICATE_KEY", entry.span, message)
                    .with_label(self.ast.span(first), "first declared here");
                self.report(fault);
            }
        }
    }

    pub(super) fn call(&mut self, id: ExprId, call: CallId) {
        let functor = self.ast.call(call).functor;
        match self.ast.expr(functor) {
            Expr::QRef(_) | Expr::QName(_) => {}
            Expr::Access { left, .. } if matches!(self.ast.expr(left), Expr::QRef(_)) => {}
            Expr::RenderString(_) => {
                let message = "Ambiguous EPP parameter expression. Probably missing '<%-' before \
                               parameters to remove leading whitespace";
                self.error("ILLEGAL_EPP_PARAMETERS", self.ast.span(id), message);
            }
            _ => self.report_illegal(functor, "function name", "Function Call"),
        }
    }

    pub(super) fn case(&mut self, id: ExprId, test: ExprId, options: AstSlice<CaseOption>) {
        self.gives_value(test);
        let values = self.ast.get(options).iter();
        let defaults: Vec<ExprId> = values
            .flat_map(|option| self.ast.get(option.values))
            .copied()
            .filter(|value| self.ast.expr(*value) == Expr::Default)
            .collect();
        self.check_single_default(id, &defaults, usize::MAX);
    }

    pub(super) fn selector(&mut self, id: ExprId, left: ExprId, entries: AstSlice<SelectorEntry>) {
        self.gives_value(left);
        let entries = self.ast.get(entries).iter();
        let defaults: Vec<ExprId> = entries
            .map(|entry| entry.matching)
            .filter(|value| self.ast.expr(*value) == Expr::Default)
            .collect();
        self.check_single_default(id, &defaults, 1);
    }

    fn check_single_default(&mut self, id: ExprId, defaults: &[ExprId], most: usize) {
        for duplicate in defaults.iter().skip(1).take(most) {
            let message = format!(
                "This {} already has a 'default' entry - this is a duplicate",
                self.ast.label(id)
            );
            let fault = Diagnostic::error("DUPLICATE_DEFAULT", self.ast.span(*duplicate), message)
                .with_label(self.ast.span(defaults[0]), "the first");
            self.report(fault);
        }
    }

    pub(super) fn collector(&mut self, id: ExprId, collect: CollectId) {
        let type_expr = self.ast.collect(collect).type_expr;
        if !matches!(self.ast.expr(type_expr), Expr::QRef(_)) {
            let container = self.ast.label(id);
            self.report_illegal(type_expr, "type name", &container);
        }
    }

    pub(super) fn query(&mut self, query: ExprId) {
        let mut parts = vec![query];
        while let Some(id) = parts.pop() {
            match self.ast.expr(id) {
                Expr::Binary {
                    op: BinaryOp::And | BinaryOp::Or,
                    left,
                    right,
                } => parts.extend([right, left]),
                Expr::Paren(inner) => parts.push(inner),
                Expr::Binary {
                    op: BinaryOp::Eq | BinaryOp::Ne,
                    ..
                }
                | Expr::Variable(_)
                | Expr::QName(_)
                | Expr::Int { .. }
                | Expr::Float(_)
                | Expr::Str(_)
                | Expr::Bool(_) => {}
                _ => {
                    let message = format!(
                        "Illegal query expression. {} cannot be used in a query",
                        with_capital_article(&self.ast.label(id))
                    );
                    self.error("ILLEGAL_QUERY_EXPRESSION", self.ast.span(id), message);
                }
            }
        }
    }

    // --- resources ---

    pub(super) fn resource(&mut self, id: ExprId, resource: ResourceId) {
        let resource = self.ast.resource(resource);
        let class = matches!(
            self.ast.expr(resource.type_name),
            Expr::QName(name) if &**self.ast.text(name) == "class"
        );
        if class && resource.form != ResourceForm::Regular {
            self.error(
                "CLASS_NOT_VIRTUALIZABLE",
                self.ast.span(id),
                "Classes are not virtualizable",
            );
        }
    }

    pub(super) fn virtualizable(&mut self, id: ExprId, form: ResourceForm) {
        if form != ResourceForm::Regular {
            self.error(
                "NOT_VIRTUALIZEABLE",
                self.ast.span(id),
                "Resource Defaults are not virtualizable",
            );
        }
    }

    pub(super) fn one_splat(&mut self, body: &ResourceBody) {
        let ops = self.ast.get(body.ops).iter();
        let splats = ops.filter(|op| op.kind == AttributeOpKind::Splat);
        for splat in splats.skip(1) {
            self.error(
                "MULTIPLE_ATTRIBUTES_UNFOLD",
                splat.span,
                "Unfolding of attributes from Hash can only be used once per resource body",
            );
        }
    }

    pub(super) fn attribute(&mut self, op: &AttributeOp) {
        if op.kind == AttributeOpKind::Append {
            let container = match self.path.last() {
                Some(AstPart::Expr(id)) => match self.ast.expr(*id) {
                    Expr::Collect(_) | Expr::ResourceOverride { .. } => None,
                    _ => Some(self.ast.label(*id)),
                },
                _ => Some("Resource Instance Definition".to_owned()),
            };
            if let Some(container) = container {
                let name = op.name.map_or("", |name| self.ast.text(name));
                let message = format!(
                    "Illegal +> operation on attribute {name}. This operator can not be used in {}",
                    with_article(&container)
                );
                self.error("ILLEGAL_ATTRIBUTE_APPEND", op.span, message);
            }
        }
        self.gives_value(op.value);
    }
}
