//! Heredocs whose tag names a language: static text in them is checked at once.

use std::sync::Arc;

use super::AstValidator;
use crate::ast::{Expr, ExprId, Sym};
use crate::diagnostic::Diagnostic;
use crate::{SourceText, SyntaxOptions};

impl AstValidator<'_> {
    /// `@(END:pp)` and `@(END:epp)` hold Puppet code.
    pub(super) fn heredoc(&mut self, syntax: Option<Sym>, text: ExprId) {
        let (Some(syntax), Expr::Str(code)) = (syntax, self.ast.expr(text)) else {
            return;
        };
        let epp = match &**self.ast.text(syntax) {
            "pp" => false,
            "epp" => true,
            _ => return,
        };
        let code = self.ast.text(code).clone();
        let options = SyntaxOptions {
            epp,
            tasks: self.tasks,
            applications: false,
        };
        let source = Arc::new(SourceText::new(None, code));
        let parsed = crate::parse_nested(&source, options);
        let Some(fault) = parsed.diagnostics.into_iter().find(Diagnostic::is_error) else {
            return;
        };
        let syntax = self.ast.text(syntax);
        let checker = syntax.to_uppercase();
        let place = source.position(fault.span.start);
        let place = if fault.message.ends_with("end of input") {
            String::new()
        } else {
            format!(" (line: {}, column: {})", place.line, place.column)
        };
        let message = format!(
            "Invalid produced text having syntax: '{syntax}'. {checker} syntax checker: \"{}{place}\"",
            fault.message
        );
        let code = if epp { "ILLEGAL_EPP" } else { "ILLEGAL_PP" };
        self.error(code, self.ast.span(text), message);
    }
}
