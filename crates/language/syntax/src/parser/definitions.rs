//! Classes, defines, plans, functions, nodes, and `apply`.

use super::expressions::LOOSEST;
use super::{PartResult, SourceParser};
use crate::SourceSpan;
use crate::ast::{
    AstSlice, ClassDefinition, Definition, DefinitionBody, DefinitionKind, EppProperties, Expr,
    ExprId, NodeDefinition, Param, Sym,
};
use crate::diagnostic::Diagnostic;
use crate::token::{SyntaxToken, TokenKind};

impl SourceParser<'_> {
    pub(super) fn definition(&mut self) -> PartResult<ExprId> {
        match self.kind() {
            TokenKind::Define => self.resource_type(DefinitionKind::ResourceType),
            TokenKind::Class => self.class(),
            TokenKind::Plan => self.plan(),
            TokenKind::Node => self.node(),
            _ => self.function(),
        }
    }

    pub(super) fn define_as(
        &mut self,
        kind: DefinitionKind,
        start: SourceSpan,
        name_span: SourceSpan,
        end: SourceSpan,
    ) -> ExprId {
        let span = start.join(end);
        let definition = self.builder.definition(Definition {
            kind,
            span,
            name_span,
        });
        self.builder.push(Expr::Definition(definition), span)
    }

    /// Parses the definition of a type whose resources have parameters: of a `define`, an application
    /// or a capability.
    pub(super) fn resource_type(
        &mut self,
        kind: fn(DefinitionBody) -> DefinitionKind,
    ) -> PartResult<ExprId> {
        let start = self.bump().span;
        let name = self.definition_name()?;
        let params = self.parameter_list()?;
        let (body, end) = self.definition_body("`(` or `{`")?;
        let body = DefinitionBody {
            name: self.qualified(name),
            params,
            return_type: None,
            body,
        };
        Ok(self.define_as(kind(body), start, name.span, end))
    }

    fn class(&mut self) -> PartResult<ExprId> {
        let start = self.bump().span;
        let name = self.definition_name()?;
        let params = self.parameter_list()?;
        let parent = if self.eat(TokenKind::Inherits) {
            Some(self.parent_name()?)
        } else {
            None
        };
        let (body, end) = self.inside(name, "`(`, `inherits` or `{`")?;
        let body = DefinitionBody {
            name: self.qualified(name),
            params,
            return_type: None,
            body,
        };
        let class = DefinitionKind::Class(ClassDefinition { body, parent });
        Ok(self.define_as(class, start, name.span, end))
    }

    fn plan(&mut self) -> PartResult<ExprId> {
        let start = self.bump().span;
        let name = self.definition_name()?;
        let params = self.parameter_list()?;
        let (body, end) = self.inside(name, "`(` or `{`")?;
        let body = DefinitionBody {
            name: self.qualified(name),
            params,
            return_type: None,
            body,
        };
        Ok(self.define_as(DefinitionKind::Plan(body), start, name.span, end))
    }

    fn function(&mut self) -> PartResult<ExprId> {
        let start = self.bump().span;
        let name = self.definition_name()?;
        let params = self.parameter_list()?;
        let return_type = self.return_type()?;
        let (body, end) = self.definition_body("`(`, `>>` or `{`")?;
        let body = DefinitionBody {
            name: self.value(name),
            params,
            return_type,
            body,
        };
        Ok(self.define_as(DefinitionKind::Function(body), start, name.span, end))
    }

    /// Parses the body of a construct whose name qualifies the names in it.
    fn inside(
        &mut self,
        name: SyntaxToken,
        expected: &'static str,
    ) -> PartResult<(Option<ExprId>, SourceSpan)> {
        let value = self.value(name);
        self.namespace.push(value);
        let body = self.definition_body(expected);
        self.namespace.pop();
        body
    }

    pub(super) fn definition_body(
        &mut self,
        expected: &'static str,
    ) -> PartResult<(Option<ExprId>, SourceSpan)> {
        let (statements, braces) = self.braced(expected)?;
        Ok((self.block(&statements, Some(braces)), braces))
    }

    pub(super) fn definition_name(&mut self) -> PartResult<SyntaxToken> {
        match self.kind() {
            TokenKind::Name | TokenKind::Word | TokenKind::ClassRef => Ok(self.bump()),
            TokenKind::Class => self.refuse_name("'class' keyword not allowed at this location"),
            TokenKind::String => self.refuse_name("A quoted string is not valid as a name here"),
            _ => self.unexpected("a name"),
        }
    }

    fn refuse_name<T>(&mut self, message: &'static str) -> PartResult<T> {
        let fault = Diagnostic::error("SYNTAX_ERROR", self.span(), message)
            .with_first_label("a bare name was expected");
        self.fail(fault)
    }

    /// The name, qualified by the names of the classes around it. A name that begins with `::` is
    /// kept, and is refused later.
    pub(super) fn qualified(&mut self, name: SyntaxToken) -> Sym {
        let own = self.value(name);
        if self.namespace.is_empty() {
            return own;
        }
        let mut text = String::new();
        for outer in &self.namespace {
            text.push_str(self.interner.text(*outer));
            text.push_str("::");
        }
        text.push_str(self.interner.text(own));
        let text = text.strip_prefix("::").unwrap_or(&text);
        self.interner.intern(text)
    }

    fn parent_name(&mut self) -> PartResult<Sym> {
        let token = if self.kind() == TokenKind::Default {
            self.bump()
        } else {
            self.definition_name()?
        };
        Ok(self.value(token))
    }

    fn node(&mut self) -> PartResult<ExprId> {
        let start = self.bump().span;
        let name_span = self.span();
        let mut hosts = vec![self.hostname()?];
        while self.eat(TokenKind::Comma) {
            if matches!(self.kind(), TokenKind::LBrace | TokenKind::Inherits) {
                break;
            }
            hosts.push(self.hostname()?);
        }
        let parent = if self.eat(TokenKind::Inherits) {
            Some(self.hostname()?)
        } else {
            None
        };
        let (body, end) = self.definition_body("`,`, `inherits` or `{`")?;
        let node = NodeDefinition {
            hosts: self.builder.list(hosts),
            parent,
            body,
        };
        Ok(self.define_as(DefinitionKind::Node(node), start, name_span, end))
    }

    fn hostname(&mut self) -> PartResult<ExprId> {
        match self.kind() {
            TokenKind::Name | TokenKind::Number => self.dotted_name(),
            TokenKind::String
            | TokenKind::Word
            | TokenKind::DqPre
            | TokenKind::Heredoc
            | TokenKind::Default
            | TokenKind::Regex
            | TokenKind::Error => self.primary(),
            _ => self.unexpected("the name of a node"),
        }
    }

    fn dotted_name(&mut self) -> PartResult<ExprId> {
        let first = self.bump();
        let mut span = first.span;
        let mut value = self.value(first);
        if self.kind() == TokenKind::Dot {
            let mut text = self.interner.text(value).to_string();
            while self.eat(TokenKind::Dot) {
                if !matches!(self.kind(), TokenKind::Name | TokenKind::Number) {
                    return self.unexpected("a part of the node's name");
                }
                let part = self.bump();
                let part_value = self.value(part);
                text.push('.');
                text.push_str(self.interner.text(part_value));
                span = span.join(part.span);
            }
            value = self.interner.intern(&text);
        }
        Ok(self.builder.push(Expr::Str(value), span))
    }

    /// `apply(arguments) { statements }`
    pub(super) fn apply(&mut self) -> PartResult<ExprId> {
        let start = self.bump().span;
        self.expect(TokenKind::LParen, "`(`")?;
        let members = self.members(TokenKind::RParen, SourceParser::argument)?;
        let args = self.with_pairs(members);
        self.expect(TokenKind::RParen, "`,` or `)`")?;
        let (statements, braces) = self.braced("`{`")?;
        let body = self.block(&statements, Some(braces));
        let span = start.join(braces);
        Ok(self.builder.push(Expr::Apply { args, body }, span))
    }

    // --- parameters ---

    /// Parses parameters in parentheses, if there are any. After a fault among them, the rest is
    /// still read.
    pub(super) fn parameter_list(&mut self) -> PartResult<AstSlice<Param>> {
        if !matches!(self.kind(), TokenKind::LParen | TokenKind::WsLParen) {
            return Ok(AstSlice::EMPTY);
        }
        let base = self.open.len();
        self.bump();
        if self.eat(TokenKind::RParen) {
            return Ok(AstSlice::EMPTY);
        }
        let params = self.parameters(TokenKind::RParen).and_then(|params| {
            self.expect(TokenKind::RParen, "`,` or `)`")?;
            Ok(params)
        });
        params.or_else(|failed| {
            if self.skip_parentheses(base) {
                Ok(AstSlice::EMPTY)
            } else {
                Err(failed)
            }
        })
    }

    /// Parses one or more parameters; a comma may precede `close`.
    pub(super) fn parameters(&mut self, close: TokenKind) -> PartResult<AstSlice<Param>> {
        let mut params = vec![self.parameter()?];
        while self.eat(TokenKind::Comma) {
            if self.kind() == close {
                break;
            }
            params.push(self.parameter()?);
        }
        Ok(self.builder.list(params))
    }

    fn parameter(&mut self) -> PartResult<Param> {
        let first = self.at;
        let type_expr = if self.kind() == TokenKind::ClassRef {
            Some(self.parameter_type()?)
        } else {
            None
        };
        let type_text = self.text_from(first);
        let captures_rest = self.eat(TokenKind::Times);
        let expected = match (type_expr, captures_rest) {
            (None, false) => "a parameter: `$name` or a type",
            _ => "the parameter's `$name`",
        };
        let name = self.expect(TokenKind::Variable, expected)?;
        let (default, default_text) = if self.eat(TokenKind::Equals) {
            let first = self.at;
            (Some(self.expression(LOOSEST)?), self.text_from(first))
        } else {
            (None, SourceSpan::default())
        };
        Ok(Param {
            name: self.value(name),
            type_expr,
            default,
            captures_rest,
            span: name.span,
            type_text,
            default_text,
        })
    }

    /// `| parameters |` at the top of a template.
    pub(super) fn epp_params(&mut self) -> EppProperties {
        let none = EppProperties {
            params: AstSlice::EMPTY,
            params_given: false,
        };
        if !self.eat(TokenKind::Pipe) {
            return none;
        }
        let start = self.at;
        let params = if self.kind() == TokenKind::Pipe {
            Ok(AstSlice::EMPTY)
        } else {
            self.parameters(TokenKind::Pipe)
        };
        let closed = params.and_then(|params| {
            self.expect(TokenKind::Pipe, "`,` or `|`")?;
            Ok(params)
        });
        match closed {
            Ok(params) => EppProperties {
                params,
                params_given: true,
            },
            Err(_) => {
                self.recover(start, 0, false);
                none
            }
        }
    }
}
