//! Reading of characters, blanks, words and operators.

use super::{Parsed, Parser};

/// Words that are no names.
const KEYWORDS: [&str; 41] = [
    "__ENCODING__",
    "__FILE__",
    "__LINE__",
    "BEGIN",
    "END",
    "alias",
    "and",
    "begin",
    "break",
    "case",
    "class",
    "def",
    "defined?",
    "do",
    "else",
    "elsif",
    "end",
    "ensure",
    "false",
    "for",
    "if",
    "in",
    "module",
    "next",
    "nil",
    "not",
    "or",
    "redo",
    "rescue",
    "retry",
    "return",
    "self",
    "super",
    "then",
    "true",
    "undef",
    "unless",
    "until",
    "when",
    "while",
    "yield",
];

impl<'a> Parser<'a> {
    pub(super) fn rest(&self) -> &'a str {
        &self.code[self.at..]
    }

    pub(super) fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    /// The byte `offset` bytes further; zero at the end.
    pub(super) fn peek_at(&self, offset: usize) -> u8 {
        let bytes = self.code.as_bytes();
        bytes.get(self.at + offset).copied().unwrap_or(0)
    }

    pub(super) fn is_next(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    /// Takes a text if it is next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let is_next = self.is_next(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    pub(super) fn expect(&mut self, text: &str) -> Parsed<()> {
        if self.take(text) {
            return Ok(());
        }
        self.refuse(format!("code without {text:?} where it is expected"))
    }

    /// Skips blanks within a line.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\\' if self.peek_at(1) == b'\n' => self.at += 2,
                _ => return,
            }
        }
    }

    /// Skips blanks, newlines and comments.
    pub(super) fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            match self.peek() {
                b'\n' => self.at += 1,
                b'#' => self.skip_comment(),
                _ => return,
            }
        }
    }

    /// Skips what may stand between statements.
    pub(super) fn skip_separators(&mut self) {
        loop {
            self.skip_lines();
            if !self.take(";") {
                return;
            }
        }
    }

    pub(super) fn skip_comment(&mut self) {
        let rest = self.rest();
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    /// The name, keyword or constant that is next; empty if there is none. A final `?` or `!` belongs to
    /// it unless it is the start of an operator.
    pub(super) fn peek_word(&self) -> &'a str {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        if !bytes.first().copied().is_some_and(is_name_start) {
            return "";
        }
        let length = bytes.iter().position(|byte| !is_name_part(*byte));
        let length = length.unwrap_or(bytes.len());
        let mark = bytes.get(length).copied().unwrap_or(0);
        let after = bytes.get(length + 1).copied().unwrap_or(0);
        let third = bytes.get(length + 2).copied().unwrap_or(0);
        let is_comparison = after == b'=' && matches!(third, b'=' | b'~' | b'>');
        if matches!(mark, b'?' | b'!') && (after != b'=' || is_comparison) {
            return &rest[..=length];
        }
        &rest[..length]
    }

    pub(super) fn is_keyword_next(&self, keyword: &str) -> bool {
        let word = self.peek_word();
        word == keyword && !self.is_label_after(word.len())
    }

    /// Takes a keyword if it is next.
    pub(super) fn take_keyword(&mut self, keyword: &str) -> bool {
        let is_next = self.is_keyword_next(keyword);
        if is_next {
            self.at += keyword.len();
        }
        is_next
    }

    /// True if a colon that makes a word a key follows: `word: value`.
    pub(super) fn is_label_after(&self, length: usize) -> bool {
        self.peek_at(length) == b':' && self.peek_at(length + 1) != b':'
    }
}

pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

pub(super) const fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

pub(super) const fn is_name_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
