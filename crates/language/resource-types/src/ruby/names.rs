//! Names and numbers of Ruby.
//!
//! Invariant: a name is a label, a keyword, a constant or an identifier; after `def` and a dot,
//! keywords are names of methods.

use super::lexer::{Lexer, RubyFault};
use super::token::{Keyword, RubyTokenKind};

impl Lexer<'_> {
    pub(super) fn number(&mut self) -> Result<(), RubyFault> {
        let (start, line) = (self.at, self.line);
        let rest = self.rest();
        let mut length = 0;
        for (index, c) in rest.char_indices() {
            let is_fraction = c == '.'
                && rest[index + 1..].starts_with(|it: char| it.is_ascii_digit())
                && !rest[..index].contains('.');
            if c.is_ascii_alphanumeric() || c == '_' || is_fraction {
                length = index + c.len_utf8();
            } else {
                break;
            }
        }
        self.advance(length);
        self.push(RubyTokenKind::Number, start, line);
        Ok(())
    }

    pub(super) fn variable(&mut self) -> Result<(), RubyFault> {
        let (start, line) = (self.at, self.line);
        let is_global = self.peek() == Some('$');
        self.advance(1);
        if self.peek() == Some('@') && !is_global {
            self.advance(1);
        }
        let name = self.word_length();
        if name > 0 {
            self.advance(name);
        } else if is_global {
            // `$!`, `$~`, `$-w`
            let dash = usize::from(self.peek() == Some('-'));
            self.advance(dash);
            match self.bump() {
                Some(c) if !c.is_whitespace() => {}
                _ => return self.fault("a variable without a name"),
            }
        } else {
            return self.fault("a variable without a name");
        }
        self.push(RubyTokenKind::Variable, start, line);
        Ok(())
    }

    /// Length in bytes of the letters and digits here.
    pub(super) fn word_length(&self) -> usize {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
        let rest = self.rest();
        rest.find(|c: char| !is_part(c)).unwrap_or(rest.len())
    }

    pub(super) fn word(&mut self) -> Result<(), RubyFault> {
        let (start, line) = (self.at, self.line);
        let after_def = self.expects_method_name();
        self.advance(self.word_length());
        let bytes = self.source.as_bytes();
        let byte = |offset: usize| bytes.get(self.at + offset).copied();
        let suffix = match (byte(0), byte(1)) {
            (Some(b'?' | b'!'), Some(b'=')) => matches!(byte(2), Some(b'=' | b'~' | b'>')),
            (Some(b'?' | b'!'), Some(b':')) => byte(2) != Some(b':') || byte(0) == Some(b'?'),
            (Some(b'?' | b'!'), _) => true,
            // `def a=(value)`
            (Some(b'='), Some(b'(')) => after_def && self.is_defining(),
            _ => false,
        };
        self.advance(usize::from(suffix));
        let word = &self.source[start..self.at];
        if self.is_label() {
            self.push(RubyTokenKind::Label(Some(word.to_owned())), start, line);
            self.at += 1;
            return Ok(());
        }
        let kind = match Keyword::parse(word) {
            Some(keyword)
                if !after_def || (keyword == Keyword::SelfObject && self.is_defining()) =>
            {
                RubyTokenKind::Keyword(keyword)
            }
            _ if word.starts_with(|c: char| c.is_uppercase()) => RubyTokenKind::Constant,
            _ => RubyTokenKind::Identifier,
        };
        if self.in_parameters && kind == RubyTokenKind::Identifier {
            self.variables.insert(word);
        }
        self.push(kind, start, line);
        Ok(())
    }

    /// True right after `def`, or `def a.`.
    fn is_defining(&self) -> bool {
        self.is_method_name(self.tokens.len())
    }

    /// True if the colon here ends the key of a hash: `a: 1`, `{a:1}`.
    fn is_label(&self) -> bool {
        let mut after = self.rest().chars();
        if after.next() != Some(':') {
            return false;
        }
        let after = after.next();
        if after == Some(':') || matches!(self.last_text(), "?" | "." | "&." | "::") {
            return false;
        }
        after.is_none_or(char::is_whitespace) || matches!(self.last_text(), "{" | "," | "(" | "|")
    }
}
