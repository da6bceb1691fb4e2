//! Resources in all their forms, and collectors.
//!
//! Invariant: a brace after a value is always the body of a resource. The value determines the
//! form: a name (a resource), a type (defaults) or a reference (override).

use super::expressions::LOOSEST;
use super::{Parsed, Parser};
use crate::Span;
use crate::ast::{
    AttributeOp, AttributeOpKind, Collect, Expr, ExprId, HashEntry, Resource, ResourceBody,
    ResourceForm, Slice,
};
use crate::diagnostic::Diagnostic;
use crate::token::{Kind, Token};

/// The contents of a brace after a value.
enum Braces {
    /// `title: …`
    Titled(Vec<ResourceBody>),
    /// Attributes only.
    Untitled(Vec<AttributeOp>),
}

impl Parser<'_> {
    pub(super) fn resource(&mut self) -> Parsed<ExprId> {
        let mut left = match self.kind() {
            Kind::At | Kind::AtAt => return self.virtual_resource(),
            Kind::Class if self.kind_after() == Kind::LBrace => self.class_resource()?,
            _ => self.expression(LOOSEST)?,
        };
        while self.kind() == Kind::LBrace {
            left = self.resource_braces(left)?;
        }
        Ok(left)
    }

    /// `@` or `@@` and a resource.
    fn virtual_resource(&mut self) -> Parsed<ExprId> {
        self.nested(|parser| {
            let mark = parser.bump();
            let id = parser.resource()?;
            let (form, name) = if mark.kind == Kind::At {
                (ResourceForm::Virtual, "Virtual (@)")
            } else {
                (ResourceForm::Exported, "Exported (@@)")
            };
            if !parser.set_form(id, form) {
                let message = format!("{name} can only be applied to a Resource Expression");
                let fault = Diagnostic::error("SYNTAX_ERROR", mark.span, message);
                parser.faults.push((parser.at, fault));
                return Ok(id);
            }
            let end = parser.span_of(id).end;
            parser.builder.set_span(id, Span::new(mark.span.start, end));
            Ok(id)
        })
    }

    fn set_form(&mut self, id: ExprId, form: ResourceForm) -> bool {
        match self.expr(id) {
            Expr::Resource(resource) => self.builder.resource_mut(resource).form = form,
            Expr::ResourceDefaults { type_ref, ops, .. } => {
                let expr = Expr::ResourceDefaults {
                    form,
                    type_ref,
                    ops,
                };
                self.builder.set(id, expr);
            }
            Expr::ResourceOverride { resources, ops, .. } => {
                let expr = Expr::ResourceOverride {
                    form,
                    resources,
                    ops,
                };
                self.builder.set(id, expr);
            }
            _ => return false,
        }
        true
    }

    /// `class { title: … }`
    fn class_resource(&mut self) -> Parsed<ExprId> {
        let class = self.bump();
        let name = self.value(class);
        let type_name = self.builder.push(Expr::QName(name), class.span);
        self.bump();
        let bodies = self.resource_bodies()?;
        let close = self.expect(Kind::RBrace, "`;` or `}`")?;
        Ok(self.make_resource(type_name, bodies, class.span.to(close.span)))
    }

    fn make_resource(
        &mut self,
        type_name: ExprId,
        bodies: Vec<ResourceBody>,
        span: Span,
    ) -> ExprId {
        let bodies = self.builder.list(bodies);
        let resource = self.builder.resource(Resource {
            form: ResourceForm::Regular,
            type_name,
            bodies,
        });
        self.builder.push(Expr::Resource(resource), span)
    }

    /// One body and more after semicolons, the last of which may be empty.
    fn resource_bodies(&mut self) -> Parsed<Vec<ResourceBody>> {
        let mut bodies = Vec::new();
        loop {
            let title = self.expression(LOOSEST)?;
            bodies.push(self.resource_body(title)?);
            if !self.eat(Kind::Semicolon) || self.kind() == Kind::RBrace {
                return Ok(bodies);
            }
        }
    }

    fn resource_body(&mut self, title: ExprId) -> Parsed<ResourceBody> {
        self.expect(Kind::Colon, "`:` after the title")?;
        let ops = self.attribute_ops()?;
        let ops = self.builder.list(ops);
        Ok(ResourceBody { title, ops })
    }

    /// Parses a brace after a value.
    fn resource_braces(&mut self, left: ExprId) -> Parsed<ExprId> {
        let open = self.bump();
        let braces = if self.begins_attributes() {
            Braces::Untitled(self.attribute_ops()?)
        } else {
            let title = self.expression(LOOSEST)?;
            let mut bodies = vec![self.resource_body(title)?];
            if self.eat(Kind::Semicolon) && self.kind() != Kind::RBrace {
                bodies.extend(self.resource_bodies()?);
            }
            Braces::Titled(bodies)
        };
        let expected = match braces {
            Braces::Titled(_) => "`,`, `;` or `}`",
            Braces::Untitled(_) => "`,` or `}`",
        };
        let close = self.expect(Kind::RBrace, expected)?;
        let span = Span::new(self.span_of(left).start, close.span.end);
        match braces {
            Braces::Titled(bodies) => Ok(self.make_resource(left, bodies, span)),
            Braces::Untitled(ops) => self.untitled(left, ops, open, span),
        }
    }

    fn begins_attributes(&self) -> bool {
        match self.kind() {
            Kind::RBrace | Kind::Comma => true,
            Kind::Times => self.kind_after() == Kind::Farrow,
            // these begin no title
            Kind::And | Kind::Else | Kind::Elsif | Kind::In | Kind::Inherits | Kind::Or => true,
            kind => {
                kind.is_attribute_name() && matches!(self.kind_after(), Kind::Farrow | Kind::Parrow)
            }
        }
    }

    /// Attributes without a title: the value before the brace determines their meaning.
    fn untitled(
        &mut self,
        left: ExprId,
        ops: Vec<AttributeOp>,
        open: Token,
        span: Span,
    ) -> Parsed<ExprId> {
        match self.expr(left) {
            Expr::QName(_) => self.titleless(left, &ops, open, span),
            Expr::QRef(_) => {
                let expr = Expr::ResourceDefaults {
                    form: ResourceForm::Regular,
                    type_ref: left,
                    ops: self.builder.list(ops),
                };
                Ok(self.builder.push(expr, span))
            }
            Expr::Access { .. } => {
                let expr = Expr::ResourceOverride {
                    form: ResourceForm::Regular,
                    resources: left,
                    ops: self.builder.list(ops),
                };
                Ok(self.builder.push(expr, span))
            }
            _ => {
                let message = "Expression is not valid as a resource, resource-default, or \
                               resource-override";
                let fault = Diagnostic::error("SYNTAX_ERROR", self.span_of(left), message)
                    .with_label(open.span, "these braces are read as the body of a resource")
                    .with_help("put a hash that begins a statement into parentheses");
                self.faults.push((self.at, fault));
                Ok(left)
            }
        }
    }

    /// `name { a => 1 }`: a name followed by a hash, which is a call for some names and refused for
    /// the others.
    fn titleless(
        &mut self,
        left: ExprId,
        ops: &[AttributeOp],
        open: Token,
        span: Span,
    ) -> Parsed<ExprId> {
        if ops.iter().any(|op| op.kind == AttributeOpKind::Append) {
            let message = "Syntax error resource body without title or hash with +>";
            let fault = Diagnostic::error("SYNTAX_ERROR", open.span, message)
                .labelled("a title was expected: `'title': …`");
            self.faults.push((self.at, fault));
            return Ok(left);
        }
        // Puppet's entries have no position but that of their hash
        let braces = Span::new(open.span.start, span.end);
        let mut entries = Vec::with_capacity(ops.len());
        for op in ops {
            let key = match op.name {
                Some(name) => Expr::Str(name),
                None => Expr::Nop,
            };
            let key = self.builder.push(key, braces);
            entries.push(HashEntry {
                key,
                value: op.value,
                span: braces,
            });
        }
        let entries = self.builder.list(entries);
        let hash = self.builder.push(Expr::Hash(entries), braces);
        if self.is_statement_name(left) {
            let call = self.statement_call(left, vec![hash]);
            self.builder.set_span(call, span);
            return Ok(call);
        }
        let list: Slice<ExprId> = self.builder.list([left, hash]);
        Ok(self.builder.push(Expr::Block(list), span))
    }

    /// Attributes separated by commas; Puppet also accepts a comma before the first and after the
    /// last.
    pub(super) fn attribute_ops(&mut self) -> Parsed<Vec<AttributeOp>> {
        let mut ops = Vec::new();
        let ends = |kind| matches!(kind, Kind::RBrace | Kind::Semicolon);
        if !ends(self.kind()) && self.kind() != Kind::Comma {
            ops.push(self.attribute_op()?);
        }
        while self.eat(Kind::Comma) {
            if ends(self.kind()) {
                break;
            }
            ops.push(self.attribute_op()?);
        }
        Ok(ops)
    }

    fn attribute_op(&mut self) -> Parsed<AttributeOp> {
        let name = self.token();
        if name.kind == Kind::Times {
            self.bump();
            self.expect(Kind::Farrow, "`=>`")?;
            let value = self.expression(LOOSEST)?;
            return Ok(AttributeOp {
                kind: AttributeOpKind::Splat,
                name: None,
                value,
                span: Span::new(name.span.start, self.span_of(value).end),
            });
        }
        if !name.kind.is_attribute_name() {
            return self.unexpected("the name of an attribute");
        }
        self.bump();
        let kind = match self.kind() {
            Kind::Farrow => AttributeOpKind::Set,
            Kind::Parrow => AttributeOpKind::Append,
            _ => return self.unexpected("`=>`"),
        };
        self.bump();
        let value = self.expression(LOOSEST)?;
        Ok(AttributeOp {
            kind,
            name: Some(self.value(name)),
            value,
            span: Span::new(name.span.start, self.span_of(value).end),
        })
    }

    /// `left <| query |> { attributes }`
    pub(super) fn collector(&mut self, left: ExprId) -> Parsed<ExprId> {
        let open = self.bump();
        let exported = open.kind == Kind::LlCollect;
        let (close, expected) = if exported {
            (Kind::RrCollect, "`|>>` or a query")
        } else {
            (Kind::RCollect, "`|>` or a query")
        };
        let query = if self.kind() == close {
            None
        } else {
            Some(self.expression(LOOSEST)?)
        };
        let close = self.expect(close, expected)?;
        let mut end = close.span;
        let mut ops = Vec::new();
        if self.eat(Kind::LBrace) {
            ops = self.attribute_ops()?;
            end = self.expect(Kind::RBrace, "`,` or `}`")?.span;
        }
        let collect = Collect {
            type_expr: left,
            exported,
            query,
            query_span: open.span.to(close.span),
            ops: self.builder.list(ops),
        };
        let collect = self.builder.collect(collect);
        let span = Span::new(self.span_of(left).start, end.end);
        Ok(self.builder.push(Expr::Collect(collect), span))
    }
}
