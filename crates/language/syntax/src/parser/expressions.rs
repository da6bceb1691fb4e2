//! Expressions by binding power: assignments, relationships, operators, and the suffixes of a value
//! (calls, indices, methods, collectors).
//!
//! From loose to tight: `-> ~> <- <~` and `= += -=` join whole resources; then `or`, `and`, `?`, `<
//! <= > >=`, `== !=`, `<< >>`, `+ -`, `* / %`, `=~ !~`, `in`; then the prefixes `-`, `*`, `!`; then
//! the suffixes of a value. As in Puppet, `==` binds tighter than `<`, and `in` tighter than `*`.

use super::{Parsed, Parser};
use crate::ast::{AssignOp, BinaryOp, EdgeOp, Expr, ExprId, UnaryOp};
use crate::token::Kind;

/// The binding power at which any operator may follow.
pub(super) const LOOSEST: u8 = 0;
const SELECTOR: u8 = 30;
const PREFIX: u8 = 110;

impl Parser<'_> {
    /// `a = b = c`; the level of statements, arguments and members of lists.
    pub(super) fn assignment(&mut self) -> Parsed<ExprId> {
        self.nested(|parser| {
            let left = parser.relationship()?;
            let op = match parser.kind() {
                Kind::Equals => AssignOp::Set,
                Kind::Appends => AssignOp::Append,
                Kind::Deletes => AssignOp::Delete,
                _ => return Ok(left),
            };
            let span = parser.bump().span;
            let right = parser.assignment()?;
            Ok(parser.builder.push(Expr::Assign { op, left, right }, span))
        })
    }

    fn relationship(&mut self) -> Parsed<ExprId> {
        let mut left = self.resource()?;
        loop {
            let op = match self.kind() {
                Kind::InEdge => EdgeOp::Before,
                Kind::InEdgeSub => EdgeOp::Notify,
                Kind::OutEdge => EdgeOp::Require,
                Kind::OutEdgeSub => EdgeOp::Subscribe,
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
    pub(super) fn expression(&mut self, loosest: u8) -> Parsed<ExprId> {
        self.nested(|parser| {
            let left = parser.prefix()?;
            parser.operators(left, loosest)
        })
    }

    /// Parses the operators after a value, as long as they bind tightly enough.
    pub(super) fn operators(&mut self, mut left: ExprId, loosest: u8) -> Parsed<ExprId> {
        loop {
            left = match self.kind() {
                Kind::LBracket => self.access(left)?,
                Kind::Dot => self.method_call(left)?,
                Kind::LParen => self.function_call(left)?,
                Kind::LCollect | Kind::LlCollect => self.collector(left)?,
                Kind::Question if SELECTOR >= loosest => self.selector(left)?,
                kind => match binary(kind) {
                    Some((op, power)) if power >= loosest => self.binary(op, power, left)?,
                    _ => return Ok(left),
                },
            };
        }
    }

    fn binary(&mut self, op: BinaryOp, power: u8, left: ExprId) -> Parsed<ExprId> {
        let span = self.bump().span;
        let right = self.expression(power + 1)?;
        Ok(self.builder.push(Expr::Binary { op, left, right }, span))
    }

    fn prefix(&mut self) -> Parsed<ExprId> {
        let op = match self.kind() {
            Kind::Not => UnaryOp::Not,
            Kind::Minus => UnaryOp::Minus,
            Kind::Times => UnaryOp::Unfold,
            _ => return self.primary(),
        };
        let span = self.bump().span;
        let operand = self.expression(PREFIX)?;
        Ok(self.builder.push(Expr::Unary { op, operand }, span))
    }
}

fn binary(kind: Kind) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        Kind::In => (BinaryOp::In, 100),
        Kind::Match => (BinaryOp::Match, 90),
        Kind::NoMatch => (BinaryOp::NoMatch, 90),
        Kind::Times => (BinaryOp::Mul, 80),
        Kind::Div => (BinaryOp::Div, 80),
        Kind::Modulo => (BinaryOp::Mod, 80),
        Kind::Plus => (BinaryOp::Add, 70),
        Kind::Minus => (BinaryOp::Sub, 70),
        Kind::LShift => (BinaryOp::ShiftLeft, 60),
        Kind::RShift => (BinaryOp::ShiftRight, 60),
        Kind::IsEqual => (BinaryOp::Eq, 50),
        Kind::NotEqual => (BinaryOp::Ne, 50),
        Kind::Less => (BinaryOp::Lt, 40),
        Kind::LessEqual => (BinaryOp::Le, 40),
        Kind::Greater => (BinaryOp::Gt, 40),
        Kind::GreaterEqual => (BinaryOp::Ge, 40),
        Kind::And => (BinaryOp::And, 20),
        Kind::Or => (BinaryOp::Or, 10),
        _ => return None,
    })
}
