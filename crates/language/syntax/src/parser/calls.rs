//! Calls of functions and methods, indices, lambdas.

use super::literals::LiteralMember;
use super::{PartResult, SourceParser};
use crate::SourceSpan;
use crate::ast::{AstSlice, CallExpr, Expr, ExprId, Lambda, LambdaId};
use crate::token::TokenKind;

impl SourceParser<'_> {
    /// Parses `left(arguments) |lambda| { }`.
    pub(super) fn function_call(&mut self, left: ExprId) -> PartResult<ExprId> {
        self.bump();
        let args = if self.kind() == TokenKind::RParen {
            AstSlice::EMPTY
        } else {
            let members = self.members(TokenKind::RParen, SourceParser::argument)?;
            self.with_pairs(members)
        };
        let close = self.expect(TokenKind::RParen, "`,` or `)`")?;
        let mut end = close.span;
        let mut lambda = None;
        if self.kind() == TokenKind::Pipe {
            let id = self.lambda()?;
            end = self.builder.ast().lambda(id).span;
            lambda = Some(id);
        }
        let call = self.builder.call(CallExpr {
            functor: left,
            args,
            lambda,
            rvalue: true,
        });
        let span = SourceSpan::new(self.span_of(left).start, end.end);
        Ok(self.builder.push(Expr::Call(call), span))
    }

    /// Parses `left.name(arguments) |lambda| { }`; no comma may precede the parenthesis.
    pub(super) fn method_call(&mut self, left: ExprId) -> PartResult<ExprId> {
        let dot = self.bump();
        if !matches!(self.kind(), TokenKind::Name | TokenKind::Type) {
            return self.unexpected("the name of a method");
        }
        let name = self.bump();
        let value = self.value(name);
        let name_id = self.builder.push(Expr::QName(value), name.span);
        let access = dot.span.join(name.span);
        let functor = Expr::NamedAccess {
            left,
            name: name_id,
        };
        let functor = self.builder.push(functor, access);
        let mut span = access;
        let mut args = AstSlice::EMPTY;
        if self.kind() == TokenKind::LParen {
            let open = self.bump();
            if self.kind() != TokenKind::RParen {
                let mut members = vec![self.argument()?];
                while self.eat(TokenKind::Comma) {
                    members.push(self.argument()?);
                }
                args = self.with_pairs(members);
            }
            let close = self.expect(TokenKind::RParen, "`,` or `)`")?;
            span = open.span.join(close.span);
        }
        let lambda = (self.kind() == TokenKind::Pipe)
            .then(|| self.lambda())
            .transpose()?;
        let call = self.builder.call(CallExpr {
            functor,
            args,
            lambda,
            rvalue: true,
        });
        Ok(self.builder.push(Expr::MethodCall(call), span))
    }

    /// Parses `left[keys]`.
    pub(super) fn access(&mut self, left: ExprId) -> PartResult<ExprId> {
        let open = self.bump();
        self.access_from(left, open.span, true)
    }

    /// Parses an index after its bracket; in the type of a parameter the keys may not end with a
    /// comma.
    pub(super) fn access_from(
        &mut self,
        left: ExprId,
        _open: SourceSpan,
        end_comma: bool,
    ) -> PartResult<ExprId> {
        let mut members = vec![self.access_arg()?];
        while self.kind() == TokenKind::Comma {
            if end_comma && self.kind_after() == TokenKind::RBracket {
                self.bump();
                break;
            }
            self.bump();
            members.push(self.access_arg()?);
        }
        let keys = self.with_pairs(members);
        let close = self.expect(TokenKind::RBracket, "`,` or `]`")?;
        let span = SourceSpan::new(self.span_of(left).start, close.span.end);
        Ok(self.builder.push(Expr::Access { left, keys }, span))
    }

    /// A key: not an assignment or a resource, unless an arrow follows.
    fn access_arg(&mut self) -> PartResult<LiteralMember> {
        if matches!(self.kind(), TokenKind::Type | TokenKind::Function)
            && self.kind_after() == TokenKind::Farrow
        {
            return self.argument();
        }
        let plain = self.at;
        let value = self.assignment()?;
        if self.kind() == TokenKind::Farrow || self.is_expression(value, plain) {
            return self.member_from(value);
        }
        self.unexpected("`=>`")
    }

    /// True if this was read without an assignment, relationship or resource.
    fn is_expression(&self, id: ExprId, start: usize) -> bool {
        match self.expr(id) {
            Expr::Assign { .. }
            | Expr::Relationship { .. }
            | Expr::Resource(_)
            | Expr::ResourceDefaults { .. }
            | Expr::ResourceOverride { .. } => false,
            // a titleless resource, not the body of a construct
            Expr::Block(_) => self.tokens[start].kind != TokenKind::Name,
            _ => true,
        }
    }

    pub(super) fn lambda(&mut self) -> PartResult<LambdaId> {
        let open = self.bump();
        let params = if self.kind() == TokenKind::Pipe {
            AstSlice::EMPTY
        } else {
            self.parameters(TokenKind::Pipe)?
        };
        self.expect(TokenKind::Pipe, "`,` or `|`")?;
        let return_type = self.return_type()?;
        let (statements, braces) = self.braced("`{`")?;
        let body = self.block(&statements, Some(braces));
        Ok(self.builder.lambda(Lambda {
            params,
            return_type,
            body,
            span: open.span.join(braces),
        }))
    }
}
