//! Expressions with operators, by precedence.

use super::{Parsed, Parser};
use crate::syntax::{Expr, MethodCall, Node};

/// Binary operators that are methods, from the weakest level to the strongest.
const LEVELS: [&[&str]; 7] = [
    &["<=>", "===", "==", "=~", "!=", "!~"],
    &["<=", ">=", "<", ">"],
    &["|"],
    &["&"],
    &["<<"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// The level of comparisons, of which Ruby takes no two in a row.
const COMPARISONS: usize = 0;

impl Parser<'_> {
    /// An expression without `and`, `or` and `not`.
    pub(super) fn parse_expression(&mut self) -> Parsed<Expr> {
        self.nested(Self::parse_ternary)
    }

    fn parse_ternary(&mut self) -> Parsed<Expr> {
        let condition = self.parse_range()?;
        self.skip_blanks();
        // a character literal has no blank after its question mark
        if self.peek() != b'?' || !matches!(self.peek_at(1), b' ' | b'\t' | b'\n') {
            return Ok(condition);
        }
        self.refuse_literal_condition(&condition)?;
        let line = condition.line;
        self.at += 1;
        self.skip_lines();
        let then = self.nested(Self::parse_ternary)?;
        self.skip_lines();
        self.expect(":")?;
        self.skip_lines();
        let otherwise = self.nested(Self::parse_ternary)?;
        let node = Node::If {
            condition: Box::new(condition),
            then: vec![then],
            otherwise: vec![otherwise],
        };
        Ok(Self::expr(line, node))
    }

    fn parse_range(&mut self) -> Parsed<Expr> {
        let low = self.parse_or()?;
        self.skip_blanks();
        if !self.is_next("..") {
            return Ok(low);
        }
        let line = low.line;
        let is_exclusive = self.is_next("...");
        self.at += if is_exclusive { 3 } else { 2 };
        self.skip_blanks();
        let high = match self.peek() {
            b']' | b')' => None,
            _ => Some(Box::new(self.parse_or()?)),
        };
        let node = Node::Range {
            low: Box::new(low),
            high,
            is_exclusive,
        };
        Ok(Self::expr(line, node))
    }

    fn parse_or(&mut self) -> Parsed<Expr> {
        let mut left = self.parse_and()?;
        let mut chain = 0;
        loop {
            self.lengthen(&mut chain)?;
            self.skip_blanks();
            if !self.is_next("||") || self.is_next("||=") {
                return Ok(left);
            }
            self.at += 2;
            self.skip_lines();
            let right = self.parse_and()?;
            let line = left.line;
            left = Self::expr(line, Node::Or(Box::new(left), Box::new(right)));
        }
    }

    fn parse_and(&mut self) -> Parsed<Expr> {
        let mut left = self.parse_binary(0)?;
        let mut chain = 0;
        loop {
            self.lengthen(&mut chain)?;
            self.skip_blanks();
            if !self.is_next("&&") || self.is_next("&&=") {
                return Ok(left);
            }
            self.at += 2;
            self.skip_lines();
            let right = self.parse_binary(0)?;
            let line = left.line;
            left = Self::expr(line, Node::And(Box::new(left), Box::new(right)));
        }
    }

    fn parse_binary(&mut self, level: usize) -> Parsed<Expr> {
        let Some(operators) = LEVELS.get(level) else {
            return self.parse_minus();
        };
        let mut left = self.parse_binary(level + 1)?;
        let mut count = 0;
        loop {
            self.skip_blanks();
            let Some(operator) = self.peek_operator(operators) else {
                return Ok(left);
            };
            self.lengthen(&mut count)?;
            if level == COMPARISONS && count > 1 {
                return self.refuse("comparisons in a row");
            }
            self.at += operator.len();
            self.skip_lines();
            let right = self.parse_binary(level + 1)?;
            left = Self::operation(left, operator, right);
        }
    }

    fn operation(left: Expr, operator: &'static str, right: Expr) -> Expr {
        let line = left.line;
        let (name, is_negated) = match operator {
            "!=" => ("==", true),
            "!~" => ("=~", true),
            other => (other, false),
        };
        let call = MethodCall {
            receiver: left,
            name,
            arguments: vec![right],
            block: None,
            is_safe: false,
        };
        let mut node = Node::Call(Box::new(call));
        if is_negated {
            node = Node::Not(Box::new(Self::expr(line, node)));
        }
        Self::expr(line, node)
    }

    /// The operator that is next, if it is one of these and not a part of a longer one.
    fn peek_operator(&self, operators: &[&'static str]) -> Option<&'static str> {
        let operator = operators.iter().find(|operator| self.is_next(operator))?;
        let after = self.peek_at(operator.len());
        let is_longer = match *operator {
            "==" => after == b'=',
            "=~" | "<=>" | "===" | "!~" | "!=" => false,
            "<=" => after == b'>',
            "<" => matches!(after, b'<' | b'='),
            ">" => matches!(after, b'>' | b'='),
            "<<" => after == b'=' || !matches!(after, b' ' | b'\t'),
            "|" => matches!(after, b'|' | b'='),
            "&" => matches!(after, b'&' | b'=' | b'.'),
            "*" => matches!(after, b'*' | b'='),
            "+" | "-" | "/" | "%" | ">=" => after == b'=',
            _ => false,
        };
        (!is_longer).then_some(*operator)
    }

    fn parse_minus(&mut self) -> Parsed<Expr> {
        let line = self.line();
        if self.peek() == b'-' && !self.peek_at(1).is_ascii_digit() {
            self.at += 1;
            let operand = self.nested(Self::parse_minus)?;
            let call = MethodCall {
                receiver: operand,
                name: "-@",
                arguments: Vec::new(),
                block: None,
                is_safe: false,
            };
            return Ok(Self::expr(line, Node::Call(Box::new(call))));
        }
        let base = self.parse_bang()?;
        self.skip_blanks();
        if self.is_next("**") {
            return self.refuse("the operator **");
        }
        Ok(base)
    }

    fn parse_bang(&mut self) -> Parsed<Expr> {
        let line = self.line();
        if self.peek() == b'!' && !matches!(self.peek_at(1), b'=' | b'~') {
            self.at += 1;
            self.skip_blanks();
            let operand = self.nested(Self::parse_bang)?;
            self.refuse_literal_condition(&operand)?;
            return Ok(Self::expr(line, Node::Not(Box::new(operand))));
        }
        self.parse_primary()
    }
}
