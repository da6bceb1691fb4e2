//! Conditions: `if`, `unless`, `case` and the selector.

use super::expressions::LOOSEST;
use super::{PartResult, SourceParser};
use crate::SourceSpan;
use crate::ast::{CaseOption, Expr, ExprId, SelectorEntry};
use crate::token::TokenKind;

impl SourceParser<'_> {
    pub(super) fn if_expression(&mut self) -> PartResult<ExprId> {
        let start = self.bump().span;
        self.if_part(start)
    }

    /// Parses the condition, the body and the alternative; `elsif` nests.
    fn if_part(&mut self, start: SourceSpan) -> PartResult<ExprId> {
        self.nested(|parser| {
            let test = parser.expression(LOOSEST)?;
            let (statements, braces) = parser.braced("`{` or an operator")?;
            let then = parser.block(&statements, Some(braces));
            let mut end = braces;
            let otherwise = match parser.kind() {
                TokenKind::Elsif => {
                    let start = parser.bump().span;
                    let id = parser.if_part(start)?;
                    end = parser.span_of(id);
                    Some(id)
                }
                TokenKind::Else => {
                    let (body, braces) = parser.else_body()?;
                    end = braces;
                    body
                }
                _ => None,
            };
            let expr = Expr::If {
                test,
                then,
                otherwise,
            };
            Ok(parser.builder.push(expr, start.join(end)))
        })
    }

    fn else_body(&mut self) -> PartResult<(Option<ExprId>, SourceSpan)> {
        self.bump();
        let (statements, braces) = self.braced("`{`")?;
        Ok((self.block(&statements, Some(braces)), braces))
    }

    pub(super) fn unless_expression(&mut self) -> PartResult<ExprId> {
        let start = self.bump().span;
        let test = self.expression(LOOSEST)?;
        let (statements, braces) = self.braced("`{` or an operator")?;
        let then = self.block(&statements, Some(braces));
        let otherwise = if self.kind() == TokenKind::Else {
            self.else_body()?.0
        } else {
            None
        };
        let expr = Expr::Unless {
            test,
            then,
            otherwise,
        };
        Ok(self.builder.push(expr, start.join(braces)))
    }

    pub(super) fn case_expression(&mut self) -> PartResult<ExprId> {
        let start = self.bump().span;
        let test = self.expression(LOOSEST)?;
        self.expect(TokenKind::LBrace, "`{` or an operator")?;
        let mut options = vec![self.case_option()?];
        while self.kind() != TokenKind::RBrace {
            options.push(self.case_option()?);
        }
        let close = self.bump();
        let options = self.builder.list(options);
        let span = start.join(close.span);
        Ok(self.builder.push(Expr::Case { test, options }, span))
    }

    fn case_option(&mut self) -> PartResult<CaseOption> {
        let mut values = vec![self.expression(LOOSEST)?];
        while self.eat(TokenKind::Comma) {
            values.push(self.expression(LOOSEST)?);
        }
        let colon = self.expect(TokenKind::Colon, "`:` or `,`")?;
        let (statements, braces) = self.braced("`{`")?;
        let then = self.block(&statements, Some(braces));
        Ok(CaseOption {
            values: self.builder.list(values),
            then,
            span: colon.span.join(braces),
        })
    }

    /// `left ? { match => value, … }`, or one entry without braces.
    pub(super) fn selector(&mut self, left: ExprId) -> PartResult<ExprId> {
        self.bump();
        let mut entries = Vec::new();
        if self.eat(TokenKind::SelBrace) {
            entries.push(self.selector_entry()?);
            while self.eat(TokenKind::Comma) {
                if self.kind() == TokenKind::RBrace {
                    break;
                }
                entries.push(self.selector_entry()?);
            }
            self.expect(TokenKind::RBrace, "`,` or `}`")?;
        } else {
            entries.push(self.selector_entry()?);
        }
        let entries = self.builder.list(entries);
        let span = self.span_of(left);
        Ok(self.builder.push(Expr::Selector { left, entries }, span))
    }

    fn selector_entry(&mut self) -> PartResult<SelectorEntry> {
        let matching = self.expression(LOOSEST)?;
        let arrow = self.expect(TokenKind::Farrow, "`=>`")?;
        let value = self.expression(LOOSEST)?;
        Ok(SelectorEntry {
            matching,
            value,
            span: arrow.span,
        })
    }
}
