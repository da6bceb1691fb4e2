//! Lists of statements, and the calls without parentheses in them.
//!
//! Invariant: `notice 'a', 'b'` is read as a name and a list. A name that is one of fifteen
//! functions takes the following expressions as its arguments only once the whole list of
//! statements has been read.

use super::{PartResult, SourceParser};
use crate::SourceSpan;
use crate::ast::{AstSlice, CallExpr, Expr, ExprId};
use crate::diagnostic::Diagnostic;
use crate::token::TokenKind;

/// The functions that can be called without parentheses.
const STATEMENT_CALLS: [&str; 15] = [
    "require", "realize", "include", "contain", "tag", "debug", "info", "notice", "warning", "err",
    "fail", "import", "break", "next", "return",
];

/// A statement, and the expressions that follow it after commas.
#[derive(Debug)]
struct ParsedStatement {
    first: ExprId,
    rest: Vec<ExprId>,
    /// The span of the first comma.
    comma: Option<SourceSpan>,
}

/// Statements of one list, in which calls are resolved.
#[derive(Debug, Default)]
struct StatementList {
    members: Vec<ExprId>,
    /// Faults that Puppet finds when the list ends.
    faults: Vec<Diagnostic>,
}

impl SourceParser<'_> {
    /// Parses all statements up to the end of the input.
    pub(super) fn statements_to_end(&mut self) -> Vec<ExprId> {
        let mut list = StatementList::default();
        while self.kind() != TokenKind::End {
            self.statement_list(&mut list, false);
            if self.kind() == TokenKind::End || self.has_given_up() {
                break;
            }
            // a bracket that closes nothing
            let _ = self.unexpected::<()>("a statement");
            self.bump();
        }
        list.members
    }

    /// Parses `{ statements }` or `{ }`; returns the members and the span of the braces.
    pub(super) fn braced(&mut self, what: &'static str) -> PartResult<(Vec<ExprId>, SourceSpan)> {
        let open = self.expect(TokenKind::LBrace, what)?;
        let mut list = StatementList::default();
        if self.kind() != TokenKind::RBrace {
            self.statement_list(&mut list, true);
        }
        let close = self.expect(TokenKind::RBrace, "`}` or a statement")?;
        Ok((list.members, open.span.join(close.span)))
    }

    /// One expression for a list: its only member, or a block.
    pub(super) fn block(
        &mut self,
        statements: &[ExprId],
        braces: Option<SourceSpan>,
    ) -> Option<ExprId> {
        match statements {
            [] => None,
            [one] => Some(*one),
            many => {
                let span = braces.unwrap_or_default();
                let list = self.builder.list(many.iter().copied());
                Some(self.builder.push(Expr::Block(list), span))
            }
        }
    }

    fn statement_list(&mut self, list: &mut StatementList, inside: bool) {
        let base = self.open.len();
        loop {
            let start = self.at;
            let faults = self.faults.len();
            match self.statement() {
                Ok(statement) => {
                    self.add(list, statement);
                    if self.eat(TokenKind::Semicolon) {
                        if self.ends_statements() {
                            let _ = self.unexpected::<()>("a statement after `;`");
                            break;
                        }
                        continue;
                    }
                }
                Err(_) => {
                    if self.at == start {
                        // Puppet ends the list before it meets the token that cannot follow
                        let early = list.faults.drain(..).map(|fault| (start, fault));
                        self.faults.splice(faults..faults, early);
                    }
                    self.recover(start, base, inside);
                }
            }
            if self.has_given_up() || self.ends_statements() {
                break;
            }
        }
        let at = self.at;
        self.faults
            .extend(list.faults.drain(..).map(|fault| (at, fault)));
    }

    fn ends_statements(&self) -> bool {
        matches!(
            self.kind(),
            TokenKind::End
                | TokenKind::RBrace
                | TokenKind::RParen
                | TokenKind::RBracket
                | TokenKind::EppEnd
                | TokenKind::EppEndTrim
                | TokenKind::DqMid
                | TokenKind::DqPost
        )
    }

    fn statement(&mut self) -> PartResult<ParsedStatement> {
        let first = self.assignment()?;
        self.statement_after(first)
    }

    /// Parses the continuation of a statement after its first expression.
    fn statement_after(&mut self, first: ExprId) -> PartResult<ParsedStatement> {
        let mut rest = Vec::new();
        let mut comma = None;
        while self.kind() == TokenKind::Comma {
            let token = self.bump();
            comma = comma.or(Some(token.span));
            rest.push(self.assignment()?);
        }
        Ok(ParsedStatement { first, rest, comma })
    }

    /// Adds a statement to its list: as a statement, or as the arguments of the name before it.
    fn add(&mut self, list: &mut StatementList, statement: ParsedStatement) {
        let before = list.members.last().copied();
        if let Some(name) = before.filter(|id| self.is_statement_name(*id)) {
            let args = std::iter::once(statement.first).chain(statement.rest);
            let call = self.statement_call(name, args.collect());
            list.members.pop();
            list.members.push(call);
            return;
        }
        if let Some(comma) = statement.comma {
            list.faults.push(self.illegal_list(before, comma));
        }
        self.forget_value(statement.first);
        list.members.push(statement.first);
    }

    /// The titleless form `notice { a => 1 }` is also such a call.
    pub(super) fn is_statement_name(&self, id: ExprId) -> bool {
        match self.expr(id) {
            Expr::QName(name) => STATEMENT_CALLS.contains(&&**self.interner.text(name)),
            _ => false,
        }
    }

    pub(super) fn statement_call(&mut self, name: ExprId, args: Vec<ExprId>) -> ExprId {
        let last = args
            .last()
            .map_or(self.span_of(name), |id| self.span_of(*id));
        let span = SourceSpan::new(self.span_of(name).start, last.end);
        let args: AstSlice<ExprId> = self.builder.list(args);
        let call = self.builder.call(CallExpr {
            functor: name,
            args,
            lambda: None,
            rvalue: false,
        });
        self.builder.push(Expr::Call(call), span)
    }

    fn forget_value(&mut self, id: ExprId) {
        if let Expr::Call(call) = self.expr(id) {
            self.builder.call_mut(call).rvalue = false;
        }
    }

    fn illegal_list(&self, before: Option<ExprId>, comma: SourceSpan) -> Diagnostic {
        let name = before.and_then(|id| match self.expr(id) {
            Expr::QName(name) => Some(self.interner.text(name)),
            _ => None,
        });
        let Some(name) = name else {
            let message = "illegal comma separated argument list";
            return Diagnostic::error("SYNTAX_ERROR", comma, message).with_help(
                "only arguments of a call and members of a list are separated by commas",
            );
        };
        let message = format!(
            "attempt to pass argument list to the function '{name}' which cannot be called without \
             parentheses"
        );
        Diagnostic::error("SYNTAX_ERROR", comma, message).with_help(format!("write `{name}(…)`"))
    }

    /// For `{` of `<%= {`: parses statements whose first expression has already been read.
    pub(super) fn statements_from(&mut self, first: ExprId) -> PartResult<Vec<ExprId>> {
        let mut list = StatementList::default();
        let statement = self.statement_after(first)?;
        self.add(&mut list, statement);
        let more = self.eat(TokenKind::Semicolon);
        if more || !self.ends_statements() {
            self.statement_list(&mut list, true);
        } else {
            let at = self.at;
            self.faults
                .extend(list.faults.drain(..).map(|fault| (at, fault)));
        }
        Ok(list.members)
    }
}
