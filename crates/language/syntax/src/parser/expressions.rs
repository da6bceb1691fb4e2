//! Expressions by binding power: assignments, relationships, operators, and the suffixes of a value
//! (calls, indices, methods, collectors).
//!
//! From loose to tight: `-> ~> <- <~` and `= += -=` join whole resources; then `or`, `and`, `?`, `<
//! <= > >=`, `== !=`, `<< >>`, `+ -`, `* / %`, `=~ !~`, `in`; then the prefixes `-`, `*`, `!`; then
//! the suffixes of a value. As in Puppet, `==` binds tighter than `<`, and `in` tighter than `*`.

use super::{PartResult, SourceParser};
use crate::ast::{AssignOp, BinaryOp, EdgeOp, Expr, ExprId, UnaryOp};
use crate::token::TokenKind;

/// The binding power at which any operator may follow.
pub(super) const LOOSEST: u8 = 0;
const SELECTOR: u8 = 30;
const PREFIX: u8 = 110;

impl SourceParser<'_> {
    /// `a = b = c`; the level of statements, arguments and members of lists.
    pub(super) fn assignment(&mut self) -> PartResult<ExprId> {
        self.nested(|parser| {
            let left = parser.relationship()?;
            let op = match parser.kind() {
                TokenKind::Equals => AssignOp::Set,
                TokenKind::Appends => AssignOp::Append,
                TokenKind::Deletes => AssignOp::Delete,
                _ => return Ok(left),
            };
            let span = parser.bump().span;
            let right = parser.assignment()?;
            Ok(parser.builder.push(Expr::Assign { op, left, right }, span))
        })
    }

    fn relationship(&mut self) -> PartResult<ExprId> {
        let mut left = self.resource()?;
        loop {
            let op = match self.kind() {
                TokenKind::InEdge => EdgeOp::Before,
                TokenKind::InEdgeSub => EdgeOp::Notify,
                TokenKind::OutEdge => EdgeOp::Require,
                TokenKind::OutEdgeSub => EdgeOp::Subscribe,
                _ => return Ok(left),
            };
            let span = self.bump().span;
            let right = self.resource()?;
            left = self
                .builder
                .push(Expr::Relationship { op, left, right }, span);
        }
    }

    /// The level of conditions, indices, titles and values of attributes; no braces may follow.
    pub(super) fn expression(&mut self, loosest: u8) -> PartResult<ExprId> {
        self.nested(|parser| {
            let left = parser.prefix()?;
            parser.operators(left, loosest)
        })
    }

    /// Parses the operators after a value, as long as they bind tightly enough.
    pub(super) fn operators(&mut self, mut left: ExprId, loosest: u8) -> PartResult<ExprId> {
        loop {
            left = match self.kind() {
                TokenKind::LBracket => self.access(left)?,
                TokenKind::Dot => self.method_call(left)?,
                TokenKind::LParen => self.function_call(left)?,
                TokenKind::LCollect | TokenKind::LlCollect => self.collector(left)?,
                TokenKind::Question if SELECTOR >= loosest => self.selector(left)?,
                kind => match binary(kind) {
                    Some((op, power)) if power >= loosest => self.binary(op, power, left)?,
                    _ => return Ok(left),
                },
            };
        }
    }

    fn binary(&mut self, op: BinaryOp, power: u8, left: ExprId) -> PartResult<ExprId> {
        let span = self.bump().span;
        let right = self.expression(power + 1)?;
        Ok(self.builder.push(Expr::Binary { op, left, right }, span))
    }

    fn prefix(&mut self) -> PartResult<ExprId> {
        let op = match self.kind() {
            TokenKind::Not => UnaryOp::Not,
            TokenKind::Minus => UnaryOp::Minus,
            TokenKind::Times => UnaryOp::Unfold,
            _ => return self.primary(),
        };
        let span = self.bump().span;
        let operand = self.expression(PREFIX)?;
        Ok(self.builder.push(Expr::Unary { op, operand }, span))
    }
}

fn binary(kind: TokenKind) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        TokenKind::In => (BinaryOp::In, 100),
        TokenKind::Match => (BinaryOp::Match, 90),
        TokenKind::NoMatch => (BinaryOp::NoMatch, 90),
        TokenKind::Times => (BinaryOp::Mul, 80),
        TokenKind::Div => (BinaryOp::Div, 80),
        TokenKind::Modulo => (BinaryOp::Mod, 80),
        TokenKind::Plus => (BinaryOp::Add, 70),
        TokenKind::Minus => (BinaryOp::Sub, 70),
        TokenKind::LShift => (BinaryOp::ShiftLeft, 60),
        TokenKind::RShift => (BinaryOp::ShiftRight, 60),
        TokenKind::IsEqual => (BinaryOp::Eq, 50),
        TokenKind::NotEqual => (BinaryOp::Ne, 50),
        TokenKind::Less => (BinaryOp::Lt, 40),
        TokenKind::LessEqual => (BinaryOp::Le, 40),
        TokenKind::Greater => (BinaryOp::Gt, 40),
        TokenKind::GreaterEqual => (BinaryOp::Ge, 40),
        TokenKind::And => (BinaryOp::And, 20),
        TokenKind::Or => (BinaryOp::Or, 10),
        _ => return None,
    })
}
