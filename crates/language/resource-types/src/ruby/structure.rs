//! The blocks of a file and its statements: [`RubyFile`].
//!
//! Invariant: each opening bracket or keyword has its end; a file in which they do not match is
//! refused.

use std::ops::Range;

use super::lexer::{LexedRuby, RubyFault, lex};
use super::token::{Keyword, RubyToken, RubyTokenKind};
use crate::defaults::MAX_PARAMETER_TOKENS;

/// A file with its blocks matched.
#[derive(Debug)]
pub(super) struct RubyFile<'s> {
    source: &'s str,
    lexed: LexedRuby,
    /// For an opening token, the index of its end; for any other, its own index.
    ends: Vec<usize>,
}

/// A block whose end was not met yet.
struct OpenBlock {
    index: usize,
    /// The closing bracket; empty for `end`.
    close: &'static str,
    /// True for a loop whose `do` may follow on the line.
    awaits_do: bool,
}

impl<'s> RubyFile<'s> {
    pub(super) fn parse(source: &'s str) -> Result<Self, RubyFault> {
        let lexed = lex(source)?;
        let mut file = Self {
            source,
            ends: (0..lexed.tokens.len()).collect(),
            lexed,
        };
        file.match_blocks()?;
        Ok(file)
    }

    /// All tokens, with those in interpolations.
    pub(super) fn all_tokens(&self) -> impl Iterator<Item = &RubyToken> {
        self.lexed.tokens.iter().chain(&self.lexed.interpolated)
    }

    pub(super) fn interpolated(&self) -> &[RubyToken] {
        &self.lexed.interpolated
    }

    /// Tokens of the code in `#{}` within a token.
    pub(super) fn interpolated_in(&self, token: &RubyToken) -> &[RubyToken] {
        let interpolated = &self.lexed.interpolated;
        let place = |offset| interpolated.partition_point(|it| it.range.start < offset);
        let within = place(token.range.start)..place(token.range.end);
        interpolated.get(within).unwrap_or_default()
    }

    /// The first name of the list that a heredoc with `#{}` contains.
    pub(super) fn name_in_heredocs(&self, list: &[&'static str]) -> Option<&'static str> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '@' | '!' | '?');
        let texts = self.lexed.unread.iter();
        let mut texts = texts.filter_map(|range| self.source.get(range.clone()));
        texts.find_map(|text| {
            let mut words = text.split(|c| !is_part(c));
            words.find_map(|word| list.iter().find(|it| **it == word).copied())
        })
    }

    /// Texts of more than one line, with their lines.
    pub(super) fn documents(&self) -> impl Iterator<Item = &'s str> {
        let documents = self.lexed.documents.iter();
        documents.map(|range| self.source.get(range.clone()).unwrap_or_default())
    }

    pub(super) fn all(&self) -> Range<usize> {
        0..self.lexed.tokens.len()
    }

    pub(super) fn token(&self, index: usize) -> Option<&RubyToken> {
        self.lexed.tokens.get(index)
    }

    pub(super) fn kind(&self, index: usize) -> Option<&RubyTokenKind> {
        self.token(index).map(|token| &token.kind)
    }

    pub(super) fn text_of(&self, token: &RubyToken) -> &'s str {
        self.source.get(token.range.clone()).unwrap_or_default()
    }

    /// The source of a token; empty past the end.
    pub(super) fn text(&self, index: usize) -> &'s str {
        self.token(index).map_or("", |token| self.text_of(token))
    }

    /// Bytes of the source from the first to the last token of a range.
    pub(super) fn size_of(&self, range: &Range<usize>) -> usize {
        let last = range.end.checked_sub(1).filter(|last| *last >= range.start);
        match (self.token(range.start), last.and_then(|it| self.token(it))) {
            (Some(first), Some(last)) => last.range.end.saturating_sub(first.range.start),
            _ => 0,
        }
    }

    pub(super) fn line(&self, index: usize) -> u32 {
        let token = self.token(index).or_else(|| self.lexed.tokens.last());
        token.map_or(1, |token| token.line)
    }

    pub(super) fn is_identifier(&self, index: usize, name: &str) -> bool {
        self.kind(index) == Some(&RubyTokenKind::Identifier) && self.text(index) == name
    }

    pub(super) fn is_constant(&self, index: usize, name: &str) -> bool {
        self.kind(index) == Some(&RubyTokenKind::Constant) && self.text(index) == name
    }

    pub(super) fn is_operator(&self, index: usize, operator: &str) -> bool {
        self.kind(index) == Some(&RubyTokenKind::Operator) && self.text(index) == operator
    }

    pub(super) fn is_keyword(&self, index: usize, keyword: Keyword) -> bool {
        self.kind(index) == Some(&RubyTokenKind::Keyword(keyword))
    }

    /// The index of the token that ends the block which begins here; the same index if none does.
    pub(super) fn end_of(&self, index: usize) -> usize {
        self.ends.get(index).copied().unwrap_or(index)
    }

    /// The tokens between an opening token and its end.
    pub(super) fn inside(&self, open: usize) -> Range<usize> {
        open + 1..self.end_of(open).max(open + 1)
    }

    /// The statements in a range, without the ends of their lines.
    pub(super) fn statements(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let is_end = |index| self.kind(index) == Some(&RubyTokenKind::Newline);
        self.split(range, is_end)
    }

    /// The parts of a list between its commas. Ends of lines are not part of them.
    pub(super) fn items(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let parts = self.split(range, |index| self.is_operator(index, ","));
        let is_newline = |index: usize| self.kind(index) == Some(&RubyTokenKind::Newline);
        let trimmed = parts.into_iter().map(|part| {
            let (mut start, mut end) = (part.start, part.end);
            while start < end && is_newline(start) {
                start += 1;
            }
            while start < end && is_newline(end - 1) {
                end -= 1;
            }
            start..end
        });
        trimmed.filter(|part| !part.is_empty()).collect()
    }

    fn split(
        &self,
        range: Range<usize>,
        is_separator: impl Fn(usize) -> bool,
    ) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let (mut start, mut at) = (range.start, range.start);
        while at < range.end {
            if is_separator(at) {
                parts.push(start..at);
                start = at + 1;
            }
            at = self.end_of(at).max(at) + 1;
        }
        parts.push(start..range.end);
        parts.retain(|part| !part.is_empty());
        parts
    }

    fn match_blocks(&mut self) -> Result<(), RubyFault> {
        let mut open: Vec<OpenBlock> = Vec::new();
        for index in 0..self.lexed.tokens.len() {
            let awaited = open.last_mut().filter(|it| it.awaits_do);
            match self.opening(index) {
                Some(block) if block.close.is_empty() && self.is_keyword(index, Keyword::Do) => {
                    match awaited {
                        Some(awaiting) => awaiting.awaits_do = false,
                        None => open.push(block),
                    }
                }
                Some(block) => open.push(block),
                None => {
                    if let (Some(awaiting), Some(RubyTokenKind::Newline)) =
                        (awaited, self.kind(index))
                    {
                        awaiting.awaits_do = false;
                    }
                    self.close(index, &mut open)?;
                }
            }
        }
        match open.pop() {
            Some(block) => self.fault(block.index, "a block without an end"),
            None => Ok(()),
        }
    }

    fn close(&mut self, index: usize, open: &mut Vec<OpenBlock>) -> Result<(), RubyFault> {
        let closing = match self.kind(index) {
            Some(RubyTokenKind::Keyword(Keyword::End)) => "",
            Some(RubyTokenKind::Operator) => match self.text(index) {
                text @ (")" | "]" | "}") => text,
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        match open.pop() {
            Some(block) if block.close == closing => {
                if let Some(end) = self.ends.get_mut(block.index) {
                    *end = index;
                }
                Ok(())
            }
            _ => self.fault(index, "an end without a block"),
        }
    }

    pub(super) fn fault<T>(&self, index: usize, reason: &str) -> Result<T, RubyFault> {
        Err(RubyFault {
            line: self.line(index),
            reason: reason.to_owned(),
        })
    }

    /// The block that a token begins.
    fn opening(&self, index: usize) -> Option<OpenBlock> {
        let block = |close, awaits_do| {
            Some(OpenBlock {
                index,
                close,
                awaits_do,
            })
        };
        match self.kind(index)? {
            RubyTokenKind::Operator => match self.text(index) {
                "(" => block(")", false),
                "[" => block("]", false),
                "{" => block("}", false),
                _ => None,
            },
            RubyTokenKind::Keyword(keyword) => match keyword {
                Keyword::Begin | Keyword::Case | Keyword::Class | Keyword::Module | Keyword::Do => {
                    block("", false)
                }
                Keyword::Def if !self.is_endless(index) => block("", false),
                Keyword::For => block("", true),
                Keyword::If | Keyword::Unless if !self.is_modifier(index) => block("", false),
                Keyword::While | Keyword::Until if !self.is_modifier(index) => block("", true),
                _ => None,
            },
            _ => None,
        }
    }

    /// True if `if` or the like stands after the expression that it governs.
    fn is_modifier(&self, index: usize) -> bool {
        let Some(before) = index.checked_sub(1) else {
            return false;
        };
        match self.kind(before) {
            None | Some(RubyTokenKind::Newline | RubyTokenKind::Label(_)) => false,
            Some(RubyTokenKind::Keyword(Keyword::Return | Keyword::Break | Keyword::Next)) => true,
            Some(RubyTokenKind::Keyword(keyword)) => !keyword.is_before_expression(),
            Some(RubyTokenKind::Operator) => matches!(self.text(before), ")" | "]" | "}"),
            Some(_) => true,
        }
    }

    /// True for `def a(b) = c`, which has no `end`.
    fn is_endless(&self, def: usize) -> bool {
        let mut at = def + 2;
        if self.is_operator(at, ".") {
            at += 2;
        }
        if self.is_operator(at, "(") {
            let mut depth = 0_usize;
            let last = at + MAX_PARAMETER_TOKENS;
            loop {
                match self.text(at) {
                    "(" => depth += 1,
                    ")" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    break;
                }
                if at > last || self.token(at).is_none() {
                    return false;
                }
            }
        }
        self.is_operator(at, "=")
    }
}
