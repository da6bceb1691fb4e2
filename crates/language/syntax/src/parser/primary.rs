//! The beginnings of expressions.

use super::{Failed, Parsed, Parser};
use crate::ast::{Expr, ExprId};
use crate::token::Kind;

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parsed<ExprId> {
        match self.kind() {
            Kind::Name => self.name(),
            Kind::Number => self.number(),
            Kind::Variable => self.leaf(Expr::Variable),
            Kind::String | Kind::Word => self.leaf(Expr::Str),
            Kind::ClassRef => self.leaf(Expr::QRef),
            Kind::Regex => self.leaf(Expr::Regex),
            Kind::Private | Kind::Attr => self.leaf(Expr::Reserved),
            Kind::RenderString => self.leaf(Expr::RenderString),
            Kind::True => Ok(self.constant(Expr::Bool(true))),
            Kind::False => Ok(self.constant(Expr::Bool(false))),
            Kind::Undef => Ok(self.constant(Expr::Undef)),
            Kind::Default => Ok(self.constant(Expr::Default)),
            Kind::DqPre => self.interpolated(),
            Kind::Heredoc => self.heredoc(),
            Kind::ListStart | Kind::LBracket => self.array(),
            Kind::LBrace => self.hash(),
            Kind::LParen | Kind::WsLParen => self.parenthesized(),
            Kind::If => self.if_expression(),
            Kind::Unless => self.unless_expression(),
            Kind::Case => self.case_expression(),
            Kind::Define | Kind::Class | Kind::Plan | Kind::Node | Kind::Function => {
                self.definition()
            }
            Kind::Type => self.type_keyword(),
            Kind::Apply => self.apply(),
            Kind::RenderExpr => self.render(),
            Kind::Error => {
                // the lexer has reported it; the token counts as a value
                Ok(self.constant(Expr::Nop))
            }
            _ => self.unexpected("an expression"),
        }
    }

    fn leaf(&mut self, make: fn(crate::ast::Sym) -> Expr) -> Parsed<ExprId> {
        let token = self.bump();
        let value = self.value(token);
        Ok(self.builder.push(make(value), token.span))
    }

    fn constant(&mut self, expr: Expr) -> ExprId {
        let span = self.bump().span;
        self.builder.push(expr, span)
    }

    fn name(&mut self) -> Parsed<ExprId> {
        self.leaf(Expr::QName)
    }

    fn parenthesized(&mut self) -> Parsed<ExprId> {
        let open = self.bump();
        let inner = self.assignment()?;
        self.expect(Kind::RParen, "`)` or an operator")?;
        Ok(self.builder.push(Expr::Paren(inner), open.span))
    }

    /// `<%= expression %>` or `<%= { statements } %>`
    fn render(&mut self) -> Parsed<ExprId> {
        let open = self.bump();
        let inner = if self.kind() == Kind::LBrace {
            self.rendered_braces()?
        } else {
            self.expression(super::expressions::LOOSEST)?
        };
        if !matches!(self.kind(), Kind::EppEnd | Kind::EppEndTrim) {
            return self.unexpected("`%>`");
        }
        let close = self.bump();
        let span = open.span.to(close.span);
        Ok(self.builder.push(Expr::RenderExpr(inner), span))
    }

    /// A brace in `<%= {` begins a hash or a block; an arrow after the first value makes it a hash.
    fn rendered_braces(&mut self) -> Parsed<ExprId> {
        if self.begins_hash_by_keyword() {
            let hash = self.hash()?;
            return self.operators(hash, super::expressions::LOOSEST);
        }
        let open = self.bump();
        let first = self.assignment()?;
        if self.kind() == Kind::Farrow {
            let hash = self.hash_from(open, first)?;
            return self.operators(hash, super::expressions::LOOSEST);
        }
        let statements = self.statements_from(first)?;
        let close = self.expect(Kind::RBrace, "`}`")?;
        let span = open.span.to(close.span);
        self.block(&statements, Some(span)).ok_or(Failed)
    }
}
