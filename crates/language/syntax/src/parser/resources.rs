//! Resources in all their forms, and collectors.
//!
//! Invariant: a brace after a value is always the body of a resource. The value determines the
//! form: a name (a resource), a type (defaults) or a reference (override).

use super::expressions::LOOSEST;
use super::hints::removed_keyword_before;
use super::{PartResult, SourceParser};
use crate::SourceSpan;
use crate::ast::{
    AstSlice, AttributeOp, AttributeOpKind, CollectorExpr, Expr, ExprId, HashEntry, ResourceBody,
    ResourceExpr, ResourceForm,
};
use crate::diagnostic::Diagnostic;
use crate::token::{SyntaxToken, TokenKind};

/// The contents of a brace after a value.
enum ResourceBraces {
    /// `title: …`
    Titled(Vec<ResourceBody>),
    /// Attributes only.
    Untitled(Vec<AttributeOp>),
}

impl SourceParser<'_> {
    pub(super) fn resource(&mut self) -> PartResult<ExprId> {
        let mut left = match self.kind() {
            TokenKind::At | TokenKind::AtAt => return self.virtual_resource(),
            TokenKind::Class if self.kind_after() == TokenKind::LBrace => self.class_resource()?,
            TokenKind::Name if self.applications => match self.application_construct() {
                Some(construct) => return construct,
                None => self.expression(LOOSEST)?,
            },
            _ => self.expression(LOOSEST)?,
        };
        if let Some(role) = self.mapping_role(left) {
            return self.capability_mapping(role, left);
        }
        while self.kind() == TokenKind::LBrace {
            left = self.resource_braces(left)?;
        }
        Ok(left)
    }

    /// `@` or `@@` and a resource.
    fn virtual_resource(&mut self) -> PartResult<ExprId> {
        self.nested(|parser| {
            let mark = parser.bump();
            let id = parser.resource()?;
            let (form, name) = if mark.kind == TokenKind::At {
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
            parser
                .builder
                .set_span(id, SourceSpan::new(mark.span.start, end));
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
    fn class_resource(&mut self) -> PartResult<ExprId> {
        let class = self.bump();
        let name = self.value(class);
        let type_name = self.builder.push(Expr::QName(name), class.span);
        self.bump();
        let bodies = self.resource_bodies()?;
        let close = self.expect(TokenKind::RBrace, "`;` or `}`")?;
        Ok(self.make_resource(type_name, bodies, class.span.join(close.span)))
    }

    fn make_resource(
        &mut self,
        type_name: ExprId,
        bodies: Vec<ResourceBody>,
        span: SourceSpan,
    ) -> ExprId {
        let bodies = self.builder.list(bodies);
        let resource = self.builder.resource(ResourceExpr {
            form: ResourceForm::Regular,
            type_name,
            bodies,
        });
        self.builder.push(Expr::Resource(resource), span)
    }

    /// One body and more after semicolons, the last of which may be empty.
    fn resource_bodies(&mut self) -> PartResult<Vec<ResourceBody>> {
        let mut bodies = Vec::new();
        loop {
            let title = self.expression(LOOSEST)?;
            bodies.push(self.resource_body(title)?);
            if !self.eat(TokenKind::Semicolon) || self.kind() == TokenKind::RBrace {
                return Ok(bodies);
            }
        }
    }

    fn resource_body(&mut self, title: ExprId) -> PartResult<ResourceBody> {
        self.expect(TokenKind::Colon, "`:` after the title")?;
        let ops = self.attribute_ops()?;
        let ops = self.builder.list(ops);
        Ok(ResourceBody { title, ops })
    }

    /// Parses a brace after a value.
    fn resource_braces(&mut self, left: ExprId) -> PartResult<ExprId> {
        let open = self.bump();
        let braces = if self.begins_attributes() {
            ResourceBraces::Untitled(self.attribute_ops()?)
        } else {
            let title = self.expression(LOOSEST)?;
            let mut bodies = vec![self.resource_body(title)?];
            if self.eat(TokenKind::Semicolon) && self.kind() != TokenKind::RBrace {
                bodies.extend(self.resource_bodies()?);
            }
            ResourceBraces::Titled(bodies)
        };
        let expected = match braces {
            ResourceBraces::Titled(_) => "`,`, `;` or `}`",
            ResourceBraces::Untitled(_) => "`,` or `}`",
        };
        let close = self.expect(TokenKind::RBrace, expected)?;
        let span = SourceSpan::new(self.span_of(left).start, close.span.end);
        match braces {
            ResourceBraces::Titled(bodies) => Ok(self.make_resource(left, bodies, span)),
            ResourceBraces::Untitled(ops) => self.untitled(left, ops, open, span),
        }
    }

    fn begins_attributes(&self) -> bool {
        match self.kind() {
            TokenKind::RBrace | TokenKind::Comma => true,
            TokenKind::Times => self.kind_after() == TokenKind::Farrow,
            // these begin no title
            TokenKind::And
            | TokenKind::Else
            | TokenKind::Elsif
            | TokenKind::In
            | TokenKind::Inherits
            | TokenKind::Or => true,
            kind => {
                kind.is_attribute_name()
                    && matches!(self.kind_after(), TokenKind::Farrow | TokenKind::Parrow)
            }
        }
    }

    /// Attributes without a title: the value before the brace determines their meaning.
    fn untitled(
        &mut self,
        left: ExprId,
        ops: Vec<AttributeOp>,
        open: SyntaxToken,
        span: SourceSpan,
    ) -> PartResult<ExprId> {
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
                let fault = match removed_keyword_before(self, self.span_of(left).start) {
                    Some(hint) => fault.with_help(hint),
                    None => fault,
                };
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
        open: SyntaxToken,
        span: SourceSpan,
    ) -> PartResult<ExprId> {
        if ops.iter().any(|op| op.kind == AttributeOpKind::Append) {
            let message = "Syntax error resource body without title or hash with +>";
            let fault = Diagnostic::error("SYNTAX_ERROR", open.span, message)
                .with_first_label("a title was expected: `'title': …`");
            self.faults.push((self.at, fault));
            return Ok(left);
        }
        // Puppet's entries have no position but that of their hash
        let braces = SourceSpan::new(open.span.start, span.end);
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
        let list: AstSlice<ExprId> = self.builder.list([left, hash]);
        Ok(self.builder.push(Expr::Block(list), span))
    }

    /// Attributes separated by commas; Puppet also accepts a comma before the first and after the
    /// last.
    pub(super) fn attribute_ops(&mut self) -> PartResult<Vec<AttributeOp>> {
        let mut ops = Vec::new();
        let ends = |kind| matches!(kind, TokenKind::RBrace | TokenKind::Semicolon);
        if !ends(self.kind()) && self.kind() != TokenKind::Comma {
            ops.push(self.attribute_op()?);
        }
        while self.eat(TokenKind::Comma) {
            if ends(self.kind()) {
                break;
            }
            ops.push(self.attribute_op()?);
        }
        Ok(ops)
    }

    fn attribute_op(&mut self) -> PartResult<AttributeOp> {
        let name = self.token();
        if name.kind == TokenKind::Times {
            self.bump();
            self.expect(TokenKind::Farrow, "`=>`")?;
            let value = self.expression(LOOSEST)?;
            return Ok(AttributeOp {
                kind: AttributeOpKind::Splat,
                name: None,
                value,
                span: SourceSpan::new(name.span.start, self.span_of(value).end),
            });
        }
        if !name.kind.is_attribute_name() {
            return self.unexpected("the name of an attribute");
        }
        self.bump();
        let kind = match self.kind() {
            TokenKind::Farrow => AttributeOpKind::Set,
            TokenKind::Parrow => AttributeOpKind::Append,
            _ => return self.unexpected("`=>`"),
        };
        self.bump();
        let value = self.expression(LOOSEST)?;
        Ok(AttributeOp {
            kind,
            name: Some(self.value(name)),
            value,
            span: SourceSpan::new(name.span.start, self.span_of(value).end),
        })
    }

    /// `left <| query |> { attributes }`
    pub(super) fn collector(&mut self, left: ExprId) -> PartResult<ExprId> {
        let open = self.bump();
        let exported = open.kind == TokenKind::LlCollect;
        let (close, expected) = if exported {
            (TokenKind::RrCollect, "`|>>` or a query")
        } else {
            (TokenKind::RCollect, "`|>` or a query")
        };
        let query = if self.kind() == close {
            None
        } else {
            Some(self.expression(LOOSEST)?)
        };
        let close = self.expect(close, expected)?;
        let mut end = close.span;
        let mut ops = Vec::new();
        if self.eat(TokenKind::LBrace) {
            ops = self.attribute_ops()?;
            end = self.expect(TokenKind::RBrace, "`,` or `}`")?.span;
        }
        let collect = CollectorExpr {
            type_expr: left,
            exported,
            query,
            query_span: open.span.join(close.span),
            ops: self.builder.list(ops),
        };
        let collect = self.builder.collect(collect);
        let span = SourceSpan::new(self.span_of(left).start, end.end);
        Ok(self.builder.push(Expr::Collect(collect), span))
    }
}
