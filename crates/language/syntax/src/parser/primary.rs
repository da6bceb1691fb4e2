//! The beginnings of expressions.

use super::{PartResult, ReportedFailure, SourceParser};
use crate::ast::{Expr, ExprId};
use crate::token::TokenKind;

impl SourceParser<'_> {
    pub(super) fn primary(&mut self) -> PartResult<ExprId> {
        match self.kind() {
            TokenKind::Name => self.name(),
            TokenKind::Number => self.number(),
            TokenKind::Variable => self.leaf(Expr::Variable),
            TokenKind::String | TokenKind::Word => self.leaf(Expr::Str),
            TokenKind::ClassRef => self.leaf(Expr::QRef),
            TokenKind::Regex => self.leaf(Expr::Regex),
            TokenKind::Private | TokenKind::Attr => self.leaf(Expr::Reserved),
            TokenKind::RenderString => self.leaf(Expr::RenderString),
            TokenKind::True => Ok(self.constant(Expr::Bool(true))),
            TokenKind::False => Ok(self.constant(Expr::Bool(false))),
            TokenKind::Undef => Ok(self.constant(Expr::Undef)),
            TokenKind::Default => Ok(self.constant(Expr::Default)),
            TokenKind::DqPre => self.interpolated(),
            TokenKind::Heredoc => self.heredoc(),
            TokenKind::ListStart | TokenKind::LBracket => self.array(),
            TokenKind::LBrace => self.hash(),
            TokenKind::LParen | TokenKind::WsLParen => self.parenthesized(),
            TokenKind::If => self.if_expression(),
            TokenKind::Unless => self.unless_expression(),
            TokenKind::Case => self.case_expression(),
            TokenKind::Define
            | TokenKind::Class
            | TokenKind::Plan
            | TokenKind::Node
            | TokenKind::Function => self.definition(),
            TokenKind::Type => self.type_keyword(),
            TokenKind::Apply => self.apply(),
            TokenKind::RenderExpr => self.render(),
            TokenKind::Error => {
                // the lexer has reported it; the token counts as a value
                Ok(self.constant(Expr::Nop))
            }
            _ => self.unexpected("an expression"),
        }
    }

    fn leaf(&mut self, make: fn(crate::ast::Sym) -> Expr) -> PartResult<ExprId> {
        let token = self.bump();
        let value = self.value(token);
        Ok(self.builder.push(make(value), token.span))
    }

    fn constant(&mut self, expr: Expr) -> ExprId {
        let span = self.bump().span;
        self.builder.push(expr, span)
    }

    fn name(&mut self) -> PartResult<ExprId> {
        self.leaf(Expr::QName)
    }

    fn parenthesized(&mut self) -> PartResult<ExprId> {
        let open = self.bump();
        let inner = self.assignment()?;
        self.expect(TokenKind::RParen, "`)` or an operator")?;
        Ok(self.builder.push(Expr::Paren(inner), open.span))
    }

    /// `<%= expression %>` or `<%= { statements } %>`
    fn render(&mut self) -> PartResult<ExprId> {
        let open = self.bump();
        let inner = if self.kind() == TokenKind::LBrace {
            self.rendered_braces()?
        } else {
            self.expression(super::expressions::LOOSEST)?
        };
        if !matches!(self.kind(), TokenKind::EppEnd | TokenKind::EppEndTrim) {
            return self.unexpected("`%>`");
        }
        let close = self.bump();
        let span = open.span.join(close.span);
        Ok(self.builder.push(Expr::RenderExpr(inner), span))
    }

    /// A brace in `<%= {` begins a hash or a block; an arrow after the first value makes it a hash.
    fn rendered_braces(&mut self) -> PartResult<ExprId> {
        if self.begins_hash_by_keyword() {
            let hash = self.hash()?;
            return self.operators(hash, super::expressions::LOOSEST);
        }
        let open = self.bump();
        let first = self.assignment()?;
        if self.kind() == TokenKind::Farrow {
            let hash = self.hash_from(open, first)?;
            return self.operators(hash, super::expressions::LOOSEST);
        }
        let statements = self.statements_from(first)?;
        let close = self.expect(TokenKind::RBrace, "`}`")?;
        let span = open.span.join(close.span);
        self.block(&statements, Some(span)).ok_or(ReportedFailure)
    }
}
