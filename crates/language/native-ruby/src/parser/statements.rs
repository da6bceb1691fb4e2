//! Statements: bodies, modifiers, `and` and `or`, `if` and `case`.

use super::cursor::{is_keyword, is_name_part};
use super::{Parsed, Parser};
use crate::source::{INSERT_END, INSERT_START, TEXT_END, TEXT_MARK};
use crate::syntax::{Body, Expr, Literal, Node, Slot};

/// Words that end a body.
const ENDS: [&str; 7] = ["end", "else", "elsif", "when", "then", "rescue", "ensure"];

impl Parser<'_> {
    /// Statements up to a word, bracket or mark that ends them.
    pub(super) fn parse_body(&mut self) -> Parsed<Body> {
        let mut body = Vec::new();
        loop {
            self.skip_separators();
            if self.is_body_end() {
                return Ok(body);
            }
            body.push(self.parse_statement()?);
            self.skip_blanks();
            let is_separated = matches!(self.peek(), b';' | b'\n' | b'#');
            if !is_separated && !self.is_body_end() {
                return self.refuse("code that cannot be read");
            }
            if !is_separated && self.is_keyword_next("rescue") {
                return self.refuse("a rescue behind a statement");
            }
        }
    }

    fn is_body_end(&self) -> bool {
        matches!(self.peek(), 0 | b'}' | b')' | INSERT_END)
            || ENDS.iter().any(|word| self.is_keyword_next(word))
    }

    pub(super) fn parse_statement(&mut self) -> Parsed<Expr> {
        self.nested(|parser| {
            let line = parser.line();
            if parser.peek() == TEXT_MARK {
                return parser.parse_text();
            }
            if parser.peek() == INSERT_START {
                parser.at += 1;
                let body = parser.parse_body()?;
                parser.expect(char::from(INSERT_END).encode_utf8(&mut [0; 4]))?;
                return Ok(Self::expr(line, Node::Insert(body)));
            }
            if let Some(require) = parser.parse_require()? {
                return Ok(Self::expr(line, require));
            }
            let statement = match parser.peek_assigned_names() {
                Some(length) => parser.parse_assign_all(length)?,
                None => parser.parse_condition()?,
            };
            parser.parse_modifiers(statement)
        })
    }

    /// Length of `a, b =` at the start of a statement.
    fn peek_assigned_names(&self) -> Option<usize> {
        let rest = self.rest();
        let line = rest.lines().next().unwrap_or_default();
        let (names, value) = line.split_once('=')?;
        let is_name = |name: &str| {
            let name = name.trim();
            name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
                && name.bytes().all(is_name_part)
                && !is_keyword(name)
        };
        let is_assignment = names.contains(',')
            && names.split(',').all(is_name)
            && !value.starts_with(['=', '~', '>']);
        is_assignment.then_some(names.len() + 1)
    }

    /// `a, b = list` and `a, b = *list`.
    fn parse_assign_all(&mut self, length: usize) -> Parsed<Expr> {
        let line = self.line();
        let names = &self.rest()[..length - 1];
        let slots = names
            .split(',')
            .map(|name| self.assigned_local(name.trim()));
        let slots = slots.collect::<Parsed<Vec<Slot>>>()?;
        self.at += length;
        self.skip_lines();
        self.take("*");
        let value = Box::new(self.parse_expression()?);
        self.skip_blanks();
        if self.peek() == b',' {
            return self.refuse("an assignment of several values");
        }
        Ok(Self::expr(line, Node::AssignAll(slots, value)))
    }

    fn parse_text(&mut self) -> Parsed<Expr> {
        let line = self.line();
        self.at += 1;
        let rest = self.rest();
        let end = rest.find(char::from(TEXT_END)).unwrap_or(0);
        let Ok(number) = rest[..end].parse() else {
            return self.refuse("code that cannot be read");
        };
        self.at += end + 1;
        Ok(Self::expr(line, Node::Text(number)))
    }

    fn parse_modifiers(&mut self, mut statement: Expr) -> Parsed<Expr> {
        let mut chain = 0;
        loop {
            self.lengthen(&mut chain)?;
            self.skip_blanks();
            let is_negated = self.is_keyword_next("unless");
            if !is_negated && !self.is_keyword_next("if") {
                return Ok(statement);
            }
            self.at += self.peek_word().len();
            self.skip_blanks();
            let condition = Box::new(self.parse_condition()?);
            self.refuse_literal_condition(&condition)?;
            let (then, otherwise) = match is_negated {
                false => (vec![statement], Vec::new()),
                true => (Vec::new(), vec![statement]),
            };
            let line = condition.line;
            let node = Node::If {
                condition,
                then,
                otherwise,
            };
            statement = Self::expr(line, node);
        }
    }

    /// An expression with `not`, `and` and `or`.
    pub(super) fn parse_condition(&mut self) -> Parsed<Expr> {
        let mut left = self.parse_not()?;
        let mut chain = 0;
        loop {
            self.lengthen(&mut chain)?;
            self.skip_blanks();
            let is_and = self.is_keyword_next("and");
            if !is_and && !self.is_keyword_next("or") {
                return Ok(left);
            }
            self.at += self.peek_word().len();
            self.skip_lines();
            let right = Box::new(self.parse_not()?);
            let line = left.line;
            let node = match is_and {
                true => Node::And(Box::new(left), right),
                false => Node::Or(Box::new(left), right),
            };
            left = Self::expr(line, node);
        }
    }

    fn parse_not(&mut self) -> Parsed<Expr> {
        let line = self.line();
        if self.take_keyword("not") {
            self.skip_blanks();
            if self.peek() == b'{' {
                return self.refuse("a brace behind not");
            }
            let operand = self.nested(Self::parse_not)?;
            self.refuse_literal_condition(&operand)?;
            return Ok(Self::expr(line, Node::Not(Box::new(operand))));
        }
        self.command_start = Some(self.at);
        self.parse_expression()
    }

    /// `if` or `unless` after its word, up to its `end`.
    pub(super) fn parse_if(&mut self, line: u32, is_negated: bool) -> Parsed<Expr> {
        self.skip_lines();
        let condition = Box::new(self.parse_condition()?);
        self.refuse_literal_condition(&condition)?;
        self.parse_then()?;
        let then = self.parse_body()?;
        let otherwise = self.parse_else(is_negated)?;
        let (then, otherwise) = match is_negated {
            false => (then, otherwise),
            true => (otherwise, then),
        };
        let node = Node::If {
            condition,
            then,
            otherwise,
        };
        Ok(Self::expr(line, node))
    }

    /// A range or regular expression as a condition is a flip-flop or a match of `$_` in Ruby.
    pub(super) fn refuse_literal_condition(&self, condition: &Expr) -> Parsed<()> {
        match &condition.node {
            Node::Range { .. } | Node::Literal(Literal::Regex(_)) | Node::RegexParts(..) => {
                self.refuse("a range or regular expression as a condition")
            }
            Node::And(left, right) | Node::Or(left, right) => {
                self.refuse_literal_condition(left)?;
                self.refuse_literal_condition(right)
            }
            Node::Body(body) => match body.last() {
                Some(last) => self.refuse_literal_condition(last),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn parse_else(&mut self, is_unless: bool) -> Parsed<Body> {
        let line = self.line();
        if !is_unless && self.take_keyword("elsif") {
            let rest = self.nested(|parser| parser.parse_if(line, false))?;
            return Ok(vec![rest]);
        }
        let body = match self.take_keyword("else") {
            true => self.parse_body()?,
            false => Vec::new(),
        };
        self.expect_end()?;
        Ok(body)
    }

    /// The `then`, semicolon or newline after a condition.
    fn parse_then(&mut self) -> Parsed<()> {
        self.skip_blanks();
        if matches!(self.peek(), b';' | b'\n' | b'#') {
            self.skip_separators();
            self.take_keyword("then");
            return Ok(());
        }
        if self.take_keyword("then") {
            return Ok(());
        }
        self.refuse("a condition that cannot be read")
    }

    pub(super) fn expect_end(&mut self) -> Parsed<()> {
        if self.take_keyword("end") {
            return Ok(());
        }
        self.refuse("a statement without end")
    }

    /// `case` after its word, up to its `end`.
    pub(super) fn parse_case(&mut self, line: u32) -> Parsed<Expr> {
        self.skip_blanks();
        let subject = match self.peek() {
            b';' | b'\n' | b'#' => None,
            _ => Some(Box::new(self.parse_condition()?)),
        };
        self.skip_separators();
        let mut branches = Vec::new();
        while self.take_keyword("when") {
            let mut patterns = Vec::new();
            loop {
                self.skip_lines();
                let pattern = self.parse_expression()?;
                if subject.is_none() {
                    self.refuse_literal_condition(&pattern)?;
                }
                patterns.push(pattern);
                self.skip_blanks();
                if !self.take(",") {
                    break;
                }
            }
            self.parse_then()?;
            branches.push((patterns, self.parse_body()?));
        }
        if branches.is_empty() {
            return self.refuse("a case without when");
        }
        let otherwise = match self.take_keyword("else") {
            true => self.parse_body()?,
            false => Vec::new(),
        };
        self.expect_end()?;
        let node = Node::Case {
            subject,
            branches,
            otherwise,
        };
        Ok(Self::expr(line, node))
    }
}
