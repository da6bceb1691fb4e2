//! The wording of faults: Puppet's first line, with our additions after it.

use super::hints::add_hints;
use super::{PartResult, ReportedFailure, SourceParser};
use crate::diagnostic::Diagnostic;
use crate::token::{SyntaxToken, TokenKind};

impl SourceParser<'_> {
    /// Reports that the current token is not allowed here.
    #[cold]
    pub(super) fn unexpected<T>(&mut self, expected: &'static str) -> PartResult<T> {
        let token = self.token();
        if token.kind == TokenKind::Error {
            // the lexer has reported it
            return Err(ReportedFailure);
        }
        let repeated = self.faults.last().is_some_and(|(at, _)| *at == self.at);
        // after a fault the end of the input is often only its consequence
        if repeated || (token.kind == TokenKind::End && !self.faults.is_empty()) {
            return Err(ReportedFailure);
        }
        let message = match token.kind {
            TokenKind::End => "Syntax error at end of input".to_owned(),
            _ => format!("Syntax error at '{}'", self.text_of(token)),
        };
        let fault = Diagnostic::error("SYNTAX_ERROR", token.span, message)
            .with_first_label(format!("expected {expected}"));
        let fault = add_hints(self, fault);
        self.fail(fault)
    }

    pub(super) fn fail<T>(&mut self, fault: Diagnostic) -> PartResult<T> {
        self.faults.push((self.at, fault));
        Err(ReportedFailure)
    }

    /// A token as Puppet's messages show it.
    pub(super) fn text_of(&self, token: SyntaxToken) -> String {
        if let Some(text) = token.kind.fixed_text() {
            return text.to_owned();
        }
        let value = token.value.map_or("", |sym| self.interner.text(sym));
        match token.kind {
            TokenKind::Regex => format!("(?-mix:{value})"),
            _ => value.to_owned(),
        }
    }
}
