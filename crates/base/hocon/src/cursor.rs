//! A position in the text: [`TextCursor`] looks ahead, advances and tracks line and column.

use crate::Error;

/// Line and column, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextPosition {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl TextPosition {
    pub(crate) fn error(self, what: impl Into<String>) -> Error {
        Error {
            line: self.line,
            column: self.column,
            what: what.into(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct TextCursor<'a> {
    rest: &'a str,
    position: TextPosition,
}

impl<'a> TextCursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self {
            rest,
            position: TextPosition { line: 1, column: 1 },
        }
    }

    pub(crate) fn position(&self) -> TextPosition {
        self.position
    }

    pub(crate) fn error(&self, what: impl Into<String>) -> Error {
        self.position.error(what)
    }

    pub(crate) fn rest(&self) -> &'a str {
        self.rest
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub(crate) fn starts_with(&self, text: &str) -> bool {
        self.rest.starts_with(text)
    }

    pub(crate) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        if c == '\n' {
            self.position = TextPosition {
                line: self.position.line + 1,
                column: 1,
            };
        } else {
            self.position.column += 1;
        }
        Some(c)
    }

    /// Skips `text` if it comes next; returns true if it did.
    pub(crate) fn eat(&mut self, text: &str) -> bool {
        let found = self.starts_with(text);
        if found {
            text.chars().for_each(|_| {
                self.bump();
            });
        }
        found
    }

    /// Advances by `bytes` bytes and returns them.
    pub(crate) fn take(&mut self, bytes: usize) -> &'a str {
        let taken = &self.rest[..bytes];
        taken.chars().for_each(|_| {
            self.bump();
        });
        taken
    }

    /// Skips spaces and tabs, not the end of the line.
    pub(crate) fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|c| c != '\n' && is_blank(c)) {
            self.bump();
        }
    }

    /// Skips blanks, line ends and comments. Returns true if there was a line end.
    pub(crate) fn skip_lines(&mut self) -> bool {
        let mut line_end = false;
        loop {
            self.skip_blanks();
            if self.at_comment() {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.bump();
                }
            } else if self.peek() == Some('\n') {
                self.bump();
                line_end = true;
            } else {
                return line_end;
            }
        }
    }

    pub(crate) fn at_comment(&self) -> bool {
        self.starts_with("#") || self.starts_with("//")
    }
}

/// White space of HOCON: that of Unicode, the byte order mark, and the ASCII
/// separators.
pub(crate) fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}' || ('\u{1c}'..='\u{1f}').contains(&c)
}
