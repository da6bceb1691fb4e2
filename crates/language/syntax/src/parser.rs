//! Converts tokens to a tree: [`parse_tokens`]. Main type: [`SourceParser`].
//!
//! Recursive descent, with binding powers for operators. The functions are named after the parts of
//! the language; each consumes the tokens that it recognises and fails at the first token that
//! cannot follow, which is where Puppet's generated parser fails too.
//!
//! Invariants: after a fault the parser continues at the next statement, so one run finds the
//! faults of the whole file, up to [`MAX_SYNTAX_ERRORS`]; recursion is counted, and a source that
//! nests too deeply for this stack results in [`NestingTooDeep`] instead of an overflow.

mod applications;
mod calls;
mod control;
mod definitions;
mod expressions;
mod faults;
pub(crate) mod hints;
mod literals;
mod primary;
mod recovery;
mod resources;
mod statements;
mod types;

use std::sync::Arc;

use crate::ast::{Ast, Builder, EppProperties, Expr, ExprId, Sym};
use crate::defaults::MAX_SYNTAX_ERRORS;
use crate::diagnostic::Diagnostic;
use crate::interner::SymbolInterner;
use crate::lexer::LexedSource;
use crate::token::{SyntaxToken, TokenKind};
use crate::{SourceSpan, SourceText};

/// The source nests more deeply than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NestingTooDeep {
    /// The position at which the limit was exceeded.
    pub(crate) at: SourceSpan,
}

/// A part could not be read; its diagnostic is already recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReportedFailure;

type PartResult<T> = Result<T, ReportedFailure>;

/// The result of parsing.
pub(crate) struct ParsedTree {
    pub(crate) ast: Ast,
    /// Faults, each with the index of the token at which it was found.
    pub(crate) faults: Vec<(usize, Diagnostic)>,
    /// Literals that are too large: a fault of their value, not of the syntax.
    pub(crate) numbers: Vec<(ExprId, Diagnostic)>,
}

struct SourceParser<'t> {
    tokens: &'t [SyntaxToken],
    at: usize,
    interner: &'t mut SymbolInterner,
    source: &'t SourceText,
    builder: Builder,
    faults: Vec<(usize, Diagnostic)>,
    numbers: Vec<(ExprId, Diagnostic)>,
    /// Names of the classes and plans around this position.
    namespace: Vec<Sym>,
    /// True if applications can be defined.
    applications: bool,
    /// Brackets that are open here, as indices of their tokens.
    open: Vec<usize>,
    depth: u32,
    max_depth: u32,
    too_deep: Option<NestingTooDeep>,
}

/// Parses the tokens. `applications` is true if applications can be defined; `max_depth` is the
/// nesting that the stack allows.
pub(crate) fn parse_tokens(
    source: &Arc<SourceText>,
    lexed: &mut LexedSource,
    applications: bool,
    max_depth: u32,
) -> Result<ParsedTree, NestingTooDeep> {
    let mut parser = SourceParser {
        tokens: &lexed.tokens,
        at: 0,
        interner: &mut lexed.interner,
        source,
        builder: Builder::new(source.clone()),
        faults: Vec::new(),
        numbers: Vec::new(),
        namespace: Vec::new(),
        applications,
        open: Vec::new(),
        depth: 0,
        max_depth,
        too_deep: None,
    };
    let (body, epp) = parser.program();
    if let Some(depth) = parser.too_deep {
        return Err(depth);
    }
    let texts = parser.interner.take_texts();
    let comments = std::mem::take(&mut lexed.comments);
    Ok(ParsedTree {
        ast: parser.builder.finish(texts, comments, body, epp),
        faults: parser.faults,
        numbers: parser.numbers,
    })
}

// === impl SourceParser ===

impl SourceParser<'_> {
    fn program(&mut self) -> (Option<ExprId>, Option<EppProperties>) {
        let epp = self.eat(TokenKind::EppStart).then(|| self.epp_params());
        let first = self.span();
        let statements = self.statements_to_end();
        let body = self.block(&statements, None);
        if let Some(body) = body
            && let Expr::Block(_) = self.builder.ast().expr(body)
        {
            let last = statements.last().map_or(first, |last| self.span_of(*last));
            let span = statements.first().map_or(first, |id| self.span_of(*id));
            self.builder.set_span(body, span.join(last));
        }
        (body, epp)
    }

    // --- looking at tokens ---

    fn kind(&self) -> TokenKind {
        self.tokens[self.at].kind
    }

    fn kind_after(&self) -> TokenKind {
        let next = (self.at + 1).min(self.tokens.len() - 1);
        self.tokens[next].kind
    }

    fn token(&self) -> SyntaxToken {
        self.tokens[self.at]
    }

    fn span(&self) -> SourceSpan {
        self.tokens[self.at].span
    }

    /// The span of the token before this one.
    fn last_span(&self) -> SourceSpan {
        self.tokens[self.at.saturating_sub(1)].span
    }

    /// The span from the first token to the one before the current one; empty if there is none
    /// between.
    fn text_from(&self, first: usize) -> SourceSpan {
        match self.at > first {
            true => self.tokens[first].span.join(self.last_span()),
            false => SourceSpan::default(),
        }
    }

    fn span_of(&self, id: ExprId) -> SourceSpan {
        self.builder.ast().span(id)
    }

    fn expr(&self, id: ExprId) -> Expr {
        self.builder.ast().expr(id)
    }

    // --- consuming them ---

    /// Consumes the token. The end is never passed.
    fn bump(&mut self) -> SyntaxToken {
        let token = self.tokens[self.at];
        match token.kind {
            TokenKind::LBrace
            | TokenKind::SelBrace
            | TokenKind::LParen
            | TokenKind::WsLParen
            | TokenKind::LBracket
            | TokenKind::ListStart
            | TokenKind::DqPre => self.open.push(self.at),
            TokenKind::RBrace | TokenKind::RParen | TokenKind::RBracket | TokenKind::DqPost => {
                self.open.pop();
            }
            _ => {}
        }
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let there = self.kind() == kind;
        if there {
            self.bump();
        }
        there
    }

    /// Consumes a token of this kind, or fails with the name of the expected one.
    fn expect(&mut self, kind: TokenKind, expected: &'static str) -> PartResult<SyntaxToken> {
        if self.kind() == kind {
            Ok(self.bump())
        } else {
            self.unexpected(expected)
        }
    }

    /// The value of a token that always has one.
    fn value(&mut self, token: SyntaxToken) -> Sym {
        match token.value {
            Some(value) => value,
            None => self.interner.intern(""),
        }
    }

    // --- depth ---

    /// Runs a part that may contain itself.
    fn nested<T>(&mut self, part: impl FnOnce(&mut Self) -> PartResult<T>) -> PartResult<T> {
        if self.depth >= self.max_depth {
            self.too_deep
                .get_or_insert(NestingTooDeep { at: self.span() });
            return Err(ReportedFailure);
        }
        self.depth += 1;
        let result = part(self);
        self.depth -= 1;
        result
    }

    /// True if parsing ends here: too deep, or too many faults.
    fn has_given_up(&self) -> bool {
        self.too_deep.is_some() || self.faults.len() >= MAX_SYNTAX_ERRORS
    }
}
