//! Validation of well-formed code: [`validate`]. Main type: [`AstValidator`].
//!
//! The checks are those of Puppet's validator, with Puppet's wording and positions, in the order in
//! which it walks the tree (parents before children), so the first error is the one that Puppet
//! reports. Severities are those of Puppet 8, which are those of Puppet 7 with `strict=error`.
//!
//! Invariants: the walk has its own stack, so no tree is too deep for it; and no check scans the
//! whole path or a whole list, so the time grows linearly with the source.

mod applications;
mod ast_part;
mod children;
mod definitions;
mod effect;
mod enclosing;
mod heredocs;
mod literals;
mod location;
mod names;
mod values;

use self::ast_part::AstPart;
use std::cell::OnceCell;
use std::collections::HashMap;

use self::literals::LiteralTable;
pub use self::location::ModuleLocation;

use crate::SourceSpan;
use crate::ast::labels::with_capital_article;
use crate::ast::{Ast, AstSlice, Expr, ExprId};
use crate::defaults::MAX_VALIDATION_FAULTS;
use crate::diagnostic::Diagnostic;

/// A step of the walk.
enum AstWalkStep {
    Enter(AstPart),
    Leave,
}

struct AstValidator<'a> {
    ast: &'a Ast,
    tasks: bool,
    location: Option<&'a ModuleLocation>,
    /// For each expression: true if it only returns a value and has no effect.
    idle: Vec<bool>,
    /// For each expression: the part of it that returns no value.
    valueless: Vec<Option<ExprId>>,
    /// Computed when the first hash or parameter needs it.
    literals: OnceCell<LiteralTable<'a>>,
    /// The parts that contain the current part, outermost first.
    path: Vec<AstPart>,
    /// Number of `apply` blocks in the path.
    applies: usize,
    diagnostics: Vec<Diagnostic>,
}

/// Checks a tree without syntax errors. `numbers` are faults of literals found by the parser.
pub(crate) fn validate(
    ast: &Ast,
    tasks: bool,
    location: Option<&ModuleLocation>,
    numbers: Vec<(ExprId, Diagnostic)>,
) -> Vec<Diagnostic> {
    let mut validator = AstValidator {
        ast,
        tasks,
        location,
        idle: effect::idle(ast),
        valueless: values::valueless(ast),
        literals: OnceCell::new(),
        path: Vec::new(),
        applies: 0,
        diagnostics: Vec::new(),
    };
    let mut numbers: HashMap<ExprId, Diagnostic> = numbers.into_iter().collect();
    validator.top_constructs();
    validator.epp_params();
    let params = ast.epp().map_or(AstSlice::EMPTY, |epp| epp.params);
    let mut stack: Vec<AstWalkStep> = Vec::new();
    stack.extend(
        ast.body()
            .map(|body| AstWalkStep::Enter(AstPart::Expr(body))),
    );
    let params = ast.get(params).iter().rev();
    stack.extend(params.map(|param| AstWalkStep::Enter(AstPart::Param(*param))));
    while let Some(visit) = stack.pop() {
        if validator.diagnostics.len() >= MAX_VALIDATION_FAULTS {
            break;
        }
        let AstWalkStep::Enter(part) = visit else {
            validator.leave();
            continue;
        };
        if let AstPart::Expr(id) = part
            && let Some(fault) = numbers.remove(&id)
        {
            validator.diagnostics.push(fault);
        }
        validator.check(part);
        validator.enter(part);
        stack.push(AstWalkStep::Leave);
        let children = stack.len();
        children::push(ast, part, |child| stack.push(AstWalkStep::Enter(child)));
        stack[children..].reverse();
    }
    validator.diagnostics
}

// === impl AstValidator ===

impl<'a> AstValidator<'a> {
    fn literals(&self) -> &LiteralTable<'a> {
        let ast = self.ast;
        self.literals.get_or_init(|| LiteralTable::of(ast))
    }

    fn enter(&mut self, part: AstPart) {
        self.applies += usize::from(self.is_apply(part));
        self.path.push(part);
    }

    fn leave(&mut self) {
        if let Some(part) = self.path.pop() {
            self.applies -= usize::from(self.is_apply(part));
        }
    }

    fn is_apply(&self, part: AstPart) -> bool {
        matches!(part, AstPart::Expr(id) if matches!(self.ast.expr(id), Expr::Apply { .. }))
    }

    fn check(&mut self, part: AstPart) {
        match part {
            AstPart::Expr(id) => self.check_expr(id),
            AstPart::Lambda(id) => {
                let lambda = *self.ast.lambda(id);
                self.captures_last(self.ast.get(lambda.params));
                if let Some(return_type) = lambda.return_type {
                    self.type_reference(return_type, "Lambda");
                }
            }
            AstPart::Param(param) => self.parameter(&param),
            AstPart::Entry(entry) => {
                self.gives_value(entry.key);
                self.gives_value(entry.value);
            }
            AstPart::Option(option) => {
                for value in self.ast.get(option.values) {
                    self.gives_value(*value);
                }
            }
            AstPart::Selection(entry) => self.gives_value(entry.matching),
            AstPart::Body(body) => self.one_splat(&body),
            AstPart::Op(op) => self.attribute(&op),
            AstPart::Query(query) => self.query(query),
        }
    }

    fn check_expr(&mut self, id: ExprId) {
        if self.tasks && self.refused_in_plans(id) {
            return;
        }
        match self.ast.expr(id) {
            Expr::Variable(name) => self.variable(id, name),
            Expr::Binary { left, right, .. } => {
                self.gives_value(left);
                self.gives_value(right);
            }
            Expr::Unary { operand: inner, .. }
            | Expr::Paren(inner)
            | Expr::Text(inner)
            | Expr::RenderExpr(inner)
            | Expr::If { test: inner, .. }
            | Expr::Unless { test: inner, .. } => self.gives_value(inner),
            Expr::Assign { op, left, right } => self.assignment(id, op, left, right),
            Expr::Relationship { left, right, .. } => {
                self.relates(left);
                self.relates(right);
            }
            Expr::Array(members) => {
                for member in self.ast.get(members) {
                    self.gives_value(*member);
                }
            }
            Expr::Hash(entries) => self.unique_keys(entries),
            Expr::Block(statements) => self.block(id, statements),
            Expr::Call(call) => self.call(id, call),
            Expr::Case { test, options } => self.case(id, test, options),
            Expr::Selector { left, entries } => self.selector(id, left, entries),
            Expr::Collect(collect) => self.collector(id, collect),
            Expr::Heredoc { syntax, text } => self.heredoc(syntax, text),
            Expr::Resource(resource) => self.resource(id, resource),
            Expr::ResourceDefaults { form, .. } | Expr::ResourceOverride { form, .. } => {
                self.virtualizable(id, form);
            }
            Expr::Definition(definition) => self.definition(id, definition),
            Expr::Reserved(word) => {
                let message = format!(
                    "Use of reserved word: {}, must be quoted if intended to be a String value",
                    self.ast.text(word)
                );
                self.error("RESERVED_WORD", self.ast.span(id), message);
            }
            _ => {}
        }
    }

    fn error(&mut self, code: &'static str, span: SourceSpan, message: impl Into<String>) {
        self.report(Diagnostic::error(code, span, message));
    }

    /// Records a fault, without duplicates and up to the limit: some checks reach the same position
    /// in two ways, and some find thousands of faults.
    fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() >= MAX_VALIDATION_FAULTS {
            return;
        }
        let known = self
            .diagnostics
            .iter()
            .rev()
            .take(16)
            .any(|one| one.code == diagnostic.code && one.span == diagnostic.span);
        if !known {
            self.diagnostics.push(diagnostic);
        }
    }

    /// `Illegal expression. A Variable is unacceptable as function name in a Function Call`
    fn report_illegal(&mut self, id: ExprId, feature: &str, container: &str) {
        let message = format!(
            "Illegal expression. {} is unacceptable as {feature} in {}",
            with_capital_article(&self.ast.label(id)),
            crate::ast::labels::with_article(container)
        );
        self.error("ILLEGAL_EXPRESSION", self.ast.span(id), message);
    }
}
