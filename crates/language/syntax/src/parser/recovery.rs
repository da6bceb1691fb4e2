//! Recovery after a fault: [`Parser::recover`].
//!
//! Invariant: every recovery consumes a token, so parsing ends; the brackets that were open at the
//! start of the statement are open at the start of the next one.

use super::Parser;
use crate::token::Kind;

impl Parser<'_> {
    /// Skips to the start of the next statement. `start` is the first token of the broken one,
    /// `base` the number of brackets around it.
    pub(super) fn recover(&mut self, start: usize, base: usize, inside: bool) {
        if self.given_up() {
            return;
        }
        if self.at == start && !(inside && self.kind() == Kind::RBrace) {
            self.bump();
        }
        loop {
            let level = self.open.len();
            match self.kind() {
                Kind::End => return,
                Kind::RBrace if level <= base => {
                    if inside {
                        return;
                    }
                    self.bump();
                }
                Kind::RBrace => {
                    self.close_to_brace(base);
                    self.bump();
                    if self.open.len() <= base {
                        return;
                    }
                }
                Kind::Semicolon if level <= base => {
                    self.bump();
                    return;
                }
                kind if level <= base && begins_statement(kind) && self.first_on_line() => return,
                Kind::RParen | Kind::RBracket if level <= base => {
                    // closes a bracket that the broken statement never opened
                    self.at += 1;
                }
                _ => {
                    self.bump();
                }
            }
        }
    }

    /// Skips past the parenthesis that closes a list of parameters. False if there is none before
    /// the body.
    pub(super) fn skip_parentheses(&mut self, base: usize) -> bool {
        while !self.given_up() {
            match self.kind() {
                Kind::End => return false,
                // a body: the parenthesis is missing
                Kind::LBrace
                    if self.open.len() == base + 1
                        && self.tokens[self.at - 1].kind != Kind::Equals =>
                {
                    return false;
                }
                Kind::RParen if self.open.len() == base + 1 => {
                    self.bump();
                    return true;
                }
                _ => {
                    self.bump();
                }
            }
        }
        false
    }

    /// A closing brace also closes the unclosed parentheses inside it.
    fn close_to_brace(&mut self, base: usize) {
        while self.open.len() > base {
            let opened = self.open.last().map(|index| self.tokens[*index].kind);
            if matches!(opened, Some(Kind::LBrace | Kind::SelBrace)) {
                return;
            }
            self.open.pop();
        }
    }

    pub(super) fn first_on_line(&self) -> bool {
        let start = self.span().start as usize;
        let before = &self.source.text().as_bytes()[..start];
        let line = memchr::memrchr(b'\n', before).map_or(before, |at| &before[at + 1..]);
        line.iter().all(u8::is_ascii_whitespace)
    }
}

/// Keywords that usually begin a statement.
fn begins_statement(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Class
            | Kind::Define
            | Kind::Node
            | Kind::Function
            | Kind::Plan
            | Kind::If
            | Kind::Unless
            | Kind::Case
    )
}
