//! The meaning of a character by the tokens before it: `/` is a division after a value.
//!
//! Invariant: the answers depend on the last few tokens only.

use super::lexer::Lexer;
use super::token::{Keyword, RubyToken, RubyTokenKind};

impl<'s> Lexer<'s> {
    pub(super) fn text(&self, token: &RubyToken) -> &'s str {
        self.source.get(token.range.clone()).unwrap_or_default()
    }

    pub(super) fn last_text(&self) -> &'s str {
        self.tokens.last().map_or("", |last| self.text(last))
    }

    /// True if the token is the name of a method that is being defined.
    pub(super) fn is_method_name(&self, index: usize) -> bool {
        let before = |steps: usize| index.checked_sub(steps).and_then(|it| self.tokens.get(it));
        let is_def = |token: Option<&RubyToken>| {
            token.is_some_and(|it| it.kind == RubyTokenKind::Keyword(Keyword::Def))
        };
        is_def(before(1)) || (is_def(before(3)) && before(2).is_some_and(|it| self.text(it) != "("))
    }

    /// True if the next token is the name of a method: after `def`, `def a.` or a dot.
    pub(super) fn expects_method_name(&self) -> bool {
        let Some(last) = self.tokens.last() else {
            return false;
        };
        match &last.kind {
            RubyTokenKind::Keyword(Keyword::Def) => true,
            RubyTokenKind::Operator => matches!(self.text(last), "." | "&."),
            _ => false,
        }
    }

    /// True if an expression begins here, so that `/` begins a pattern.
    pub(super) fn expects_expression(&self) -> bool {
        let Some(last) = self.tokens.last() else {
            return true;
        };
        match &last.kind {
            RubyTokenKind::Newline | RubyTokenKind::Label(_) => true,
            RubyTokenKind::Keyword(keyword) => keyword.is_before_expression(),
            RubyTokenKind::Operator => {
                !matches!(self.text(last), ")" | "]" | "}")
                    && !self.is_method_name(self.tokens.len() - 1)
            }
            _ => false,
        }
    }

    /// True if the last token may be a method whose argument begins after a blank.
    pub(super) fn follows_command(&self) -> bool {
        self.tokens.last().is_some_and(|last| {
            last.kind == RubyTokenKind::Identifier && !self.variables.contains(self.text(last))
        })
    }

    /// Notes the variables that an operator after the last token creates.
    pub(super) fn note_variables(&mut self, operator: &str) {
        let Some(last) = self.tokens.last() else {
            return;
        };
        let index = self.tokens.len() - 1;
        match operator {
            "|" => {
                let begins =
                    last.kind == RubyTokenKind::Keyword(Keyword::Do) || self.text(last) == "{";
                self.in_parameters = begins && !self.in_parameters;
            }
            "(" if self.is_method_name(index) => self.in_parameters = true,
            ")" => self.in_parameters = false,
            "=" | "||=" | "&&=" | "+=" | "-=" | "*=" | "/="
                if last.kind == RubyTokenKind::Identifier =>
            {
                let name = self.text(last);
                self.variables.insert(name);
            }
            _ => {}
        }
    }
}
