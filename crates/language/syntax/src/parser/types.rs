//! Types before parameters and after `>>`, and the keyword `type`.

use super::{PartResult, SourceParser};
use crate::SourceSpan;
use crate::ast::{
    AstSlice, DefinitionKind, Expr, ExprId, HashEntry, Sym, TypeAlias, TypeDefinition, TypeMapping,
};
use crate::token::TokenKind;

impl SourceParser<'_> {
    /// `Name` or `Name[…]`
    pub(super) fn parameter_type(&mut self) -> PartResult<ExprId> {
        let left = self.type_name()?;
        if self.kind() == TokenKind::LBracket {
            return self.type_access(left, false);
        }
        Ok(left)
    }

    fn type_name(&mut self) -> PartResult<ExprId> {
        let token = self.expect(TokenKind::ClassRef, "a type")?;
        let name = self.value(token);
        Ok(self.builder.push(Expr::QRef(name), token.span))
    }

    fn type_access(&mut self, left: ExprId, end_comma: bool) -> PartResult<ExprId> {
        let open = self.bump();
        self.access_from(left, open.span, end_comma)
    }

    /// Parses `>> Type`, if present.
    pub(super) fn return_type(&mut self) -> PartResult<Option<ExprId>> {
        if !self.eat(TokenKind::RShift) {
            return Ok(None);
        }
        self.parameter_type().map(Some)
    }

    /// `type` begins an alias or a definition, or is the function of that name.
    pub(super) fn type_keyword(&mut self) -> PartResult<ExprId> {
        let keyword = self.bump();
        if self.kind() == TokenKind::LParen {
            let name = self.value(keyword);
            return Ok(self.builder.push(Expr::QName(name), keyword.span));
        }
        let name = self.token();
        let left = self.parameter_type()?;
        let start = keyword.span;
        let Expr::QRef(own) = self.expr(left) else {
            return self.type_assignment(name.span, left, None);
        };
        match self.kind() {
            TokenKind::LBrace => self.type_definition(start, name.span, own, None),
            TokenKind::Inherits => {
                self.bump();
                let parent = self.expect(TokenKind::ClassRef, "a type")?;
                let parent = self.value(parent);
                self.type_definition(start, name.span, own, Some(parent))
            }
            _ => self.type_assignment(name.span, left, Some(own)),
        }
    }

    fn type_definition(
        &mut self,
        start: SourceSpan,
        name_span: SourceSpan,
        name: Sym,
        parent: Option<Sym>,
    ) -> PartResult<ExprId> {
        let (statements, braces) = self.braced("`{`")?;
        let body = self.block(&statements, Some(braces));
        let kind = DefinitionKind::TypeDefinition(TypeDefinition { name, parent, body });
        Ok(self.define_as(kind, start, name_span, braces))
    }

    /// `= Type`, `= Type[…]`, `= Type { … }`, `= { … }`, `= [ … ]`. Puppet's messages about an
    /// alias report the position of its name.
    fn type_assignment(
        &mut self,
        name_span: SourceSpan,
        left: ExprId,
        name: Option<Sym>,
    ) -> PartResult<ExprId> {
        self.expect(TokenKind::Equals, "`=`")?;
        let mut right = match self.kind() {
            TokenKind::ClassRef => self.aliased_type(name_span)?,
            TokenKind::LBrace => self.hash()?,
            TokenKind::ListStart | TokenKind::LBracket => self.array()?,
            _ => return self.unexpected("a type"),
        };
        let end = self.last_span();
        let whole = name_span.join(end);
        let kind = match name {
            Some(name) => {
                if let Expr::Hash(_) = self.expr(right) {
                    let object = self.interner.intern("Object");
                    let object = self.builder.push(Expr::QRef(object), whole);
                    right = self.object_of(object, right);
                }
                if let Expr::Access { .. } = self.expr(right) {
                    // Puppet has no position for it but that of the alias
                    self.builder.set_span(right, whole);
                }
                DefinitionKind::TypeAlias(TypeAlias {
                    name,
                    type_expr: right,
                })
            }
            None => DefinitionKind::TypeMapping(TypeMapping {
                from: left,
                to: right,
            }),
        };
        Ok(self.define_as(kind, name_span, name_span, end))
    }

    /// A type, its arguments, or the hash of a new object type that inherits from it.
    fn aliased_type(&mut self, alias: SourceSpan) -> PartResult<ExprId> {
        let token = self.token();
        let parent = self.type_name()?;
        match self.kind() {
            TokenKind::LBracket => self.type_access(parent, true),
            TokenKind::LBrace => {
                let mut hash = self.hash()?;
                let name = self.value(token);
                let own = matches!(&**self.interner.text(name), "Object" | "TypeSet");
                if own {
                    return Ok(self.object_of(parent, hash));
                }
                hash = self.with_parent(hash, parent);
                let object = self.interner.intern("Object");
                let object = self.builder.push(Expr::QRef(object), alias);
                Ok(self.object_of(object, hash))
            }
            _ => Ok(parent),
        }
    }

    /// `type[hash]`
    fn object_of(&mut self, left: ExprId, hash: ExprId) -> ExprId {
        let keys: AstSlice<ExprId> = self.builder.list([hash]);
        let span = self.span_of(left).join(self.span_of(hash));
        self.builder.push(Expr::Access { left, keys }, span)
    }

    /// The hash with an entry `parent => …` at its end.
    fn with_parent(&mut self, hash: ExprId, parent: ExprId) -> ExprId {
        let Expr::Hash(entries) = self.expr(hash) else {
            return hash;
        };
        // Puppet has no position for implied parts but that of the hash
        let span = self.span_of(hash);
        let key = self.interner.intern("parent");
        let key = self.builder.push(Expr::QName(key), span);
        let mut entries = self.builder.ast().get(entries).to_vec();
        entries.push(HashEntry {
            key,
            value: parent,
            span,
        });
        let entries = self.builder.list(entries);
        self.builder.push(Expr::Hash(entries), span)
    }
}
