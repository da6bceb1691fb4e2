//! `begin` with `rescue`, and `raise`.

use super::{Parsed, Parser};
use crate::syntax::{Body, ExceptionClass, Node, Rescue};

impl Parser<'_> {
    /// `begin` after its word, up to its `end`.
    pub(super) fn parse_begin(&mut self) -> Parsed<Node> {
        self.nested(|parser| {
            let body = parser.parse_body()?;
            parser.parse_rescues(body)
        })
    }

    /// The `rescue` clauses behind a body, and the `end`.
    pub(super) fn parse_rescues(&mut self, body: Body) -> Parsed<Node> {
        let mut rescues = Vec::new();
        while self.take_keyword("rescue") {
            rescues.push(self.parse_rescue()?);
        }
        self.expect_end()?;
        Ok(match rescues.is_empty() {
            true => Node::Body(body),
            false => Node::Begin { body, rescues },
        })
    }

    fn parse_rescue(&mut self) -> Parsed<Rescue> {
        let mut classes = Vec::new();
        self.skip_blanks();
        while self.peek().is_ascii_uppercase() {
            let rest = self.rest();
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':');
            let name = &rest[..end.unwrap_or(rest.len())];
            let Some(class) = ExceptionClass::named(name) else {
                return self.refuse(format!("the exception {name}"));
            };
            classes.push(class);
            self.at += name.len();
            self.skip_blanks();
            if self.take(",") {
                self.skip_lines();
            }
        }
        if classes.is_empty() {
            classes.push(ExceptionClass::StandardError);
        }
        if self.take("=>") {
            self.skip_blanks();
            let name = self.peek_word();
            if !name.starts_with(|c: char| c.is_ascii_lowercase()) || name.ends_with(['?', '!']) {
                return self.refuse("a rescue in another form");
            }
            self.at += name.len();
            self.refuse_uses(name)?;
        }
        self.skip_blanks();
        if !matches!(self.peek(), b';' | b'\n' | b'#') {
            return self.refuse("a rescue in another form");
        }
        let body = self.parse_body()?;
        Ok(Rescue { classes, body })
    }

    /// The exception itself is for Ruby: its name may not occur again.
    fn refuse_uses(&self, name: &str) -> Parsed<()> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let before = self.code[..self.at - name.len()].split(|c| !is_part(c));
        let after = self.rest().split(|c| !is_part(c));
        match before.chain(after).any(|word| word == name) {
            true => self.refuse("a rescued exception that is used"),
            false => Ok(()),
        }
    }

    /// `raise` after its word. Its arguments are read and dropped.
    pub(super) fn parse_raise(&mut self) -> Parsed<Node> {
        let was_unevaluated = std::mem::replace(&mut self.is_unevaluated, true);
        let parsed = self.skip_raise_arguments();
        self.is_unevaluated = was_unevaluated;
        parsed.map(|()| Node::Refused("an exception".into()))
    }

    fn skip_raise_arguments(&mut self) -> Parsed<()> {
        if self.take("(") {
            return self.parse_arguments(")").map(drop);
        }
        self.skip_blanks();
        let is_end = matches!(self.peek(), 0 | b';' | b'\n' | b'#' | b'}' | b')');
        if is_end
            || ["if", "unless", "end"]
                .iter()
                .any(|word| self.is_keyword_next(word))
        {
            return Ok(());
        }
        loop {
            self.parse_expression()?;
            self.skip_blanks();
            if !self.take(",") {
                return Ok(());
            }
            self.skip_lines();
        }
    }
}
