//! Heredocs of Ruby: their starts, and the texts after the line. Main function:
//! [`Lexer::heredoc`].
//!
//! Invariant: a heredoc that begins has a line that ends it, or the file is refused.

use super::lexer::{Lexer, PendingHeredoc, RubyFault};
use super::token::{Keyword, RubyTokenKind};
use crate::defaults::MAX_HEREDOCS_PER_LINE;

impl Lexer<'_> {
    /// Reads `<<~ID`, if it is the start of a heredoc and not a shift.
    pub(super) fn heredoc(&mut self, spaced: bool) -> Result<bool, RubyFault> {
        let rest = self.rest();
        let Some(after) = rest.strip_prefix("<<") else {
            return Ok(false);
        };
        let (is_indented, name) = match after.strip_prefix(['~', '-']) {
            Some(name) => (true, name),
            None => (false, after),
        };
        let quote = name.chars().next().filter(|c| "\"'`".contains(*c));
        let terminator = match quote {
            Some(quote) => match name[1..].split_once(quote) {
                Some((terminator, _)) if !terminator.contains('\n') => terminator,
                _ => return Ok(false),
            },
            None => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
                &name[..name.find(|c| !is_part(c)).unwrap_or(name.len())]
            }
        };
        let is_name = quote.is_some()
            || terminator.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let is_singleton = self
            .tokens
            .last()
            .is_some_and(|last| last.kind == RubyTokenKind::Keyword(Keyword::Class));
        let begins = self.expects_expression() || (self.follows_command() && spaced);
        if !is_name || is_singleton || !begins {
            return Ok(false);
        }
        if self.heredocs.len() >= MAX_HEREDOCS_PER_LINE {
            return self.fault("too many heredocs on one line");
        }
        let (start, line) = (self.at, self.line);
        let length = 2 + usize::from(is_indented) + terminator.len() + quote.map_or(0, |_| 2);
        self.heredocs.push(PendingHeredoc {
            token: self.tokens.len(),
            is_squiggly: after.starts_with('~'),
            terminator: terminator.to_owned(),
            is_indented,
            is_interpolated: quote != Some('\''),
        });
        self.advance(length);
        self.push(RubyTokenKind::Text(None), start, line);
        Ok(true)
    }

    /// Moves past the texts of the heredocs that began on the line before.
    pub(super) fn heredoc_bodies(&mut self) -> Result<(), RubyFault> {
        let start = self.at;
        for heredoc in std::mem::take(&mut self.heredocs) {
            let (line, body) = (self.line, self.at);
            let end = loop {
                let (before, rest) = (self.at, self.rest());
                if rest.is_empty() {
                    self.line = line;
                    return self.fault("a heredoc without an end");
                }
                let length = rest.find('\n').map_or(rest.len(), |end| end + 1);
                let text = rest[..length].trim_end_matches(['\n', '\r']);
                let text = match heredoc.is_indented {
                    true => text.trim_start(),
                    false => text,
                };
                self.advance(length);
                if text == heredoc.terminator {
                    break before;
                }
            };
            let lines = self.source.get(body..end).unwrap_or_default();
            if let Some(token) = self.tokens.get_mut(heredoc.token) {
                token.kind = RubyTokenKind::Text(heredoc.plain_text(lines));
            }
            let text = self.source.get(body..self.at).unwrap_or_default();
            if heredoc.is_interpolated && text.contains("#{") {
                self.unread.push(body..self.at);
            }
        }
        if self.at > start {
            self.documents.push(start..self.at);
        }
        Ok(())
    }
}

impl PendingHeredoc {
    /// The text of these lines; `None` if an escape, an interpolation or a tab decides about it.
    fn plain_text(&self, lines: &str) -> Option<String> {
        let is_code = |c: char| c == '\\' || c == '#';
        if (self.is_interpolated && lines.contains(is_code)) || lines.contains('\r') {
            return None;
        }
        if !self.is_squiggly {
            return Some(lines.to_owned());
        }
        if lines.contains('\t') {
            return None;
        }
        let indentation = |line: &str| line.len() - line.trim_start_matches(' ').len();
        let full = lines.lines().filter(|line| !line.trim().is_empty());
        let common = full.map(indentation).min().unwrap_or(0);
        let lines = lines.split_inclusive('\n');
        Some(
            lines
                .map(|line| &line[common.min(indentation(line))..])
                .collect(),
        )
    }
}
