//! Recovery after a fault: [`SourceParser::recover`].
//!
//! Invariant: every recovery consumes a token, so parsing ends; the brackets that were open at the
//! start of the statement are open at the start of the next one.

use super::SourceParser;
use crate::token::TokenKind;

impl SourceParser<'_> {
    /// Skips to the start of the next statement. `start` is the first token of the broken one,
    /// `base` the number of brackets around it.
    pub(super) fn recover(&mut self, start: usize, base: usize, inside: bool) {
        if self.has_given_up() {
            return;
        }
        if self.at == start && !(inside && self.kind() == TokenKind::RBrace) {
            self.bump();
        }
        loop {
            let level = self.open.len();
            match self.kind() {
                TokenKind::End => return,
                TokenKind::RBrace if level <= base => {
                    if inside {
                        return;
                    }
                    self.bump();
                }
                TokenKind::RBrace => {
                    self.close_to_brace(base);
                    self.bump();
                    if self.open.len() <= base {
                        return;
                    }
                }
                TokenKind::Semicolon if level <= base => {
                    self.bump();
                    return;
                }
                kind if level <= base && begins_statement(kind) && self.first_on_line() => return,
                TokenKind::RParen | TokenKind::RBracket if level <= base => {
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
        while !self.has_given_up() {
            match self.kind() {
                TokenKind::End => return false,
                // a body: the parenthesis is missing
                TokenKind::LBrace
                    if self.open.len() == base + 1
                        && self.tokens[self.at - 1].kind != TokenKind::Equals =>
                {
                    return false;
                }
                TokenKind::RParen if self.open.len() == base + 1 => {
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
            if matches!(opened, Some(TokenKind::LBrace | TokenKind::SelBrace)) {
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
fn begins_statement(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Class
            | TokenKind::Define
            | TokenKind::Node
            | TokenKind::Function
            | TokenKind::Plan
            | TokenKind::If
            | TokenKind::Unless
            | TokenKind::Case
    )
}
