//! Calls of functions and methods, indices, lambdas.

use super::literals::Member;
use super::{Parsed, Parser};
use crate::Span;
use crate::ast::{Call, Expr, ExprId, Lambda, LambdaId, Slice};
use crate::token::Kind;

impl Parser<'_> {
    /// Parses `left(arguments) |lambda| { }`.
    pub(super) fn function_call(&mut self, left: ExprId) -> Parsed<ExprId> {
        self.bump();
        let args = if self.kind() == Kind::RParen {
            Slice::EMPTY
        } else {
            let members = self.members(Kind::RParen, Parser::argument)?;
            self.with_pairs(members)
        };
        let close = self.expect(Kind::RParen, "`,` or `)`")?;
        let mut end = close.span;
        let mut lambda = None;
        if self.kind() == Kind::Pipe {
            let id = self.lambda()?;
            end = self.builder.ast().lambda(id).span;
            lambda = Some(id);
        }
        let call = self.builder.call(Call {
            functor: left,
            args,
            lambda,
            rvalue: true,
        });
        let span = Span::new(self.span_of(left).start, end.end);
        Ok(self.builder.push(Expr::Call(call), span))
    }

    /// Parses `left.name(arguments) |lambda| { }`; no comma may precede the parenthesis.
    pub(super) fn method_call(&mut self, left: ExprId) -> Parsed<ExprId> {
        let dot = self.bump();
        if !matches!(self.kind(), Kind::Name | Kind::Type) {
            return self.unexpected("the name of a method");
        }
        let name = self.bump();
        let value = self.value(name);
        let name_id = self.builder.push(Expr::QName(value), name.span);
        let access = dot.span.to(name.span);
        let functor = Expr::NamedAccess {
            left,
            name: name_id,
        };
        let functor = self.builder.push(functor, access);
        let mut span = access;
        let mut args = Slice::EMPTY;
        if self.kind() == Kind::LParen {
            let open = self.bump();
            if self.kind() != Kind::RParen {
                let mut members = vec![self.argument()?];
                while self.eat(Kind::Comma) {
                    members.push(self.argument()?);
                }
                args = self.with_pairs(members);
            }
            let close = self.expect(Kind::RParen, "`,` or `)`")?;
            span = open.span.to(close.span);
        }
        let lambda = (self.kind() == Kind::Pipe)
            .then(|| self.lambda())
            .transpose()?;
        let call = self.builder.call(Call {
            functor,
            args,
            lambda,
            rvalue: true,
        });
        Ok(self.builder.push(Expr::MethodCall(call), span))
    }

    /// Parses `left[keys]`.
    pub(super) fn access(&mut self, left: ExprId) -> Parsed<ExprId> {
        let open = self.bump();
        self.access_from(left, open.span, true)
    }

    /// Parses an index after its bracket; in the type of a parameter the keys may not end with a
    /// comma.
    pub(super) fn access_from(
        &mut self,
        left: ExprId,
        _open: Span,
        end_comma: bool,
    ) -> Parsed<ExprId> {
        let mut members = vec![self.access_arg()?];
        while self.kind() == Kind::Comma {
            if end_comma && self.kind_after() == Kind::RBracket {
                self.bump();
                break;
            }
            self.bump();
            members.push(self.access_arg()?);
        }
        let keys = self.with_pairs(members);
        let close = self.expect(Kind::RBracket, "`,` or `]`")?;
        let span = Span::new(self.span_of(left).start, close.span.end);
        Ok(self.builder.push(Expr::Access { left, keys }, span))
    }

    /// A key: not an assignment or a resource, unless an arrow follows.
    fn access_arg(&mut self) -> Parsed<Member> {
        if matches!(self.kind(), Kind::Type | Kind::Function) && self.kind_after() == Kind::Farrow {
            return self.argument();
        }
        let plain = self.at;
        let value = self.assignment()?;
        if self.kind() == Kind::Farrow || self.is_expression(value, plain) {
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
            Expr::Block(_) => self.tokens[start].kind != Kind::Name,
            _ => true,
        }
    }

    pub(super) fn lambda(&mut self) -> Parsed<LambdaId> {
        let open = self.bump();
        let params = if self.kind() == Kind::Pipe {
            Slice::EMPTY
        } else {
            self.parameters(Kind::Pipe)?
        };
        self.expect(Kind::Pipe, "`,` or `|`")?;
        let return_type = self.return_type()?;
        let (statements, braces) = self.braced("`{`")?;
        let body = self.block(&statements, Some(braces));
        Ok(self.builder.lambda(Lambda {
            params,
            return_type,
            body,
            span: open.span.to(braces),
        }))
    }
}
