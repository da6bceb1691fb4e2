//! Literals of Ruby: strings, symbols, word lists and patterns. Main function:
//! [`Lexer::literal`].
//!
//! Invariant: a literal has a text only if the text is certain; escapes beyond the simple ones and
//! interpolations leave it out.

use super::lexer::{Lexer, OPERATOR_METHODS, RubyFault};
use super::token::{RegexLiteral, RubyTokenKind};

/// The delimiters of a literal.
#[derive(Clone, Copy)]
pub(super) struct Delimiters {
    open: char,
    close: char,
}

/// The notation of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextForm {
    /// Single quotes: only the delimiter and the backslash are escaped.
    Raw,
    /// Double quotes: escapes and interpolations.
    Interpolated,
    /// As double quotes, but escapes are part of the pattern.
    Pattern,
}

impl Delimiters {
    fn new(open: char) -> Self {
        let close = match open {
            '(' => ')',
            '[' => ']',
            '{' => '}',
            '<' => '>',
            other => other,
        };
        Self { open, close }
    }
}

impl Lexer<'_> {
    /// Reads a literal, if one begins here. `spaced` is true if blanks precede it.
    pub(super) fn literal(&mut self, next: char, spaced: bool) -> Result<bool, RubyFault> {
        let begins = self.expects_expression() || (self.follows_command() && spaced);
        let tight = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace() && c != '=');
        match next {
            '"' | '\'' => self.quoted(next)?,
            '`' if !self.expects_method_name() => self.quoted(next)?,
            ':' => return self.symbol(),
            '?' => return self.character(),
            '/' if self.expects_expression() || (begins && tight(self.peek_after(1))) => {
                let (start, line) = (self.at, self.line);
                self.advance(1);
                self.regex(Delimiters::new('/'), start, line)?;
            }
            '%' if self.expects_expression() || (begins && tight(self.peek_after(1))) => {
                return self.percent();
            }
            '<' => return self.heredoc(spaced),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn quoted(&mut self, quote: char) -> Result<(), RubyFault> {
        let (start, line) = (self.at, self.line);
        let is_key = !matches!(self.last_text(), "?");
        self.advance(1);
        let form = match quote {
            '\'' => TextForm::Raw,
            _ => TextForm::Interpolated,
        };
        let mut text = self.delimited(Delimiters::new(quote), form)?;
        if quote == '`' {
            text = None;
        }
        let ends_key = self.peek() == Some(':') && self.peek_after(1) != Some(':');
        if ends_key && is_key && self.peek_after(1).is_none_or(char::is_whitespace) {
            self.push(RubyTokenKind::Label(text), start, line);
            self.at += 1;
        } else {
            self.push(RubyTokenKind::Text(text), start, line);
        }
        Ok(())
    }

    fn symbol(&mut self) -> Result<bool, RubyFault> {
        let (start, line) = (self.at, self.line);
        let Some(next) = self.peek_after(1) else {
            return Ok(false);
        };
        match next {
            ':' => return Ok(false),
            '"' | '\'' => {
                self.advance(2);
                let form = match next {
                    '"' => TextForm::Interpolated,
                    _ => TextForm::Raw,
                };
                let text = self.delimited(Delimiters::new(next), form)?;
                self.push(RubyTokenKind::Symbol(text), start, line);
                return Ok(true);
            }
            c if c.is_alphabetic() || matches!(c, '_' | '@' | '$') => {}
            _ => return self.operator_symbol(),
        }
        self.advance(1);
        while matches!(self.peek(), Some('@' | '$')) {
            self.advance(1);
        }
        self.advance(self.word_length());
        let after = self.peek_after(1);
        match self.peek() {
            Some('?' | '!') if !matches!(after, Some('=')) => self.advance(1),
            Some('=') if !matches!(after, Some('=' | '~' | '>')) => self.advance(1),
            _ => {}
        }
        let text = self.source[start + 1..self.at].to_owned();
        self.push(RubyTokenKind::Symbol(Some(text)), start, line);
        Ok(true)
    }

    /// `:+`, `:[]`; only where an expression begins, since `a ? b :-1` has none.
    fn operator_symbol(&mut self) -> Result<bool, RubyFault> {
        let (start, line) = (self.at, self.line);
        let rest = self.source.get(self.at + 1..).unwrap_or_default();
        let name = OPERATOR_METHODS.iter().find(|it| rest.starts_with(**it));
        let Some(name) = name.filter(|_| self.expects_expression()) else {
            return Ok(false);
        };
        self.advance(1 + name.len());
        self.push(RubyTokenKind::Symbol(Some((*name).to_owned())), start, line);
        Ok(true)
    }

    /// `?a`, where an expression begins.
    fn character(&mut self) -> Result<bool, RubyFault> {
        let Some(next) = self.peek_after(1) else {
            return Ok(false);
        };
        if !self.expects_expression() || next.is_whitespace() {
            return Ok(false);
        }
        let (start, line) = (self.at, self.line);
        let is_escape = next == '\\';
        let after = self.peek_after(1 + next.len_utf8());
        if is_escape {
            let length = 2 + after.map_or(0, char::len_utf8);
            self.advance(length);
        } else if after.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            return Ok(false);
        } else {
            self.advance(1 + next.len_utf8());
        }
        self.push(RubyTokenKind::Text(None), start, line);
        Ok(true)
    }

    fn percent(&mut self) -> Result<bool, RubyFault> {
        let (start, line) = (self.at, self.line);
        let Some(next) = self.peek_after(1) else {
            return Ok(false);
        };
        let (kind, open) = match next {
            'w' | 'W' | 'i' | 'I' | 'q' | 'Q' | 'r' | 's' | 'x' => (next, self.peek_after(2)),
            c if c.is_ascii_punctuation() && c != '=' => ('Q', Some(c)),
            _ => return Ok(false),
        };
        let Some(open) = open.filter(char::is_ascii_punctuation) else {
            return Ok(false);
        };
        self.advance(if next == open { 2 } else { 3 });
        let delimiters = Delimiters::new(open);
        let kind = match kind {
            'r' => {
                self.regex(delimiters, start, line)?;
                return Ok(true);
            }
            'w' | 'i' => {
                let words = self.delimited(delimiters, TextForm::Raw)?;
                // an escaped blank is part of a word
                let words = words.filter(|_| !self.source[start..self.at].contains('\\'));
                RubyTokenKind::Words(words.map(|words| split_words(&words)))
            }
            'W' | 'I' => {
                let words = self.delimited(delimiters, TextForm::Interpolated)?;
                let words = words.filter(|_| !self.source[start..self.at].contains('\\'));
                RubyTokenKind::Words(words.map(|words| split_words(&words)))
            }
            'q' => RubyTokenKind::Text(self.delimited(delimiters, TextForm::Raw)?),
            's' => RubyTokenKind::Symbol(self.delimited(delimiters, TextForm::Raw)?),
            'x' => {
                self.delimited(delimiters, TextForm::Interpolated)?;
                RubyTokenKind::Text(None)
            }
            _ => RubyTokenKind::Text(self.delimited(delimiters, TextForm::Interpolated)?),
        };
        self.push(kind, start, line);
        Ok(true)
    }

    fn regex(&mut self, delimiters: Delimiters, start: usize, line: u32) -> Result<(), RubyFault> {
        let source = self.delimited(delimiters, TextForm::Pattern)?;
        let flags = self.rest();
        let length = flags
            .find(|c| !"imxounse".contains(c))
            .unwrap_or(flags.len());
        let flags = flags[..length].to_owned();
        self.advance(length);
        self.push_regex(RegexLiteral { source, flags }, start, line);
        Ok(())
    }

    /// The text up to the closing delimiter, which is consumed.
    fn delimited(
        &mut self,
        delimiters: Delimiters,
        form: TextForm,
    ) -> Result<Option<String>, RubyFault> {
        let Delimiters { open, close } = delimiters;
        let (start, line) = (self.at, self.line);
        let mut text = Some(String::new());
        let mut depth = 0_usize;
        loop {
            let Some(next) = self.peek() else {
                self.line = line;
                return self.fault("a text without an end");
            };
            if next == close && depth == 0 {
                self.advance(next.len_utf8());
                break;
            }
            if next == '\\' {
                self.escape(delimiters, form, &mut text);
                continue;
            }
            if next == '#' && form != TextForm::Raw && self.peek_after(1) == Some('{') {
                self.advance(2);
                self.interpolation()?;
                text = None;
                continue;
            }
            if next == '#' && form != TextForm::Raw && matches!(self.peek_after(1), Some('@' | '$'))
            {
                text = None;
            }
            if open != close {
                depth += usize::from(next == open);
                depth -= usize::from(next == close);
            }
            self.advance(next.len_utf8());
            if let Some(text) = &mut text {
                text.push(next);
            }
        }
        if self.line > line {
            if !self.heredocs.is_empty() {
                return self.fault("a text of several lines after the start of a heredoc");
            }
            self.documents.push(start..self.at);
        }
        Ok(text)
    }

    /// Reads a backslash and the character after it.
    fn escape(&mut self, delimiters: Delimiters, form: TextForm, text: &mut Option<String>) {
        self.advance(1);
        let Some(escaped) = self.bump() else {
            return;
        };
        let Delimiters { open, close } = delimiters;
        let is_delimiter = escaped == open || escaped == close;
        let decoded = match form {
            TextForm::Raw if is_delimiter || escaped == '\\' => Some(escaped),
            TextForm::Raw => {
                if let Some(text) = text {
                    text.push('\\');
                }
                Some(escaped)
            }
            // Ruby leaves the backslash out unless the delimiter has a meaning in patterns.
            TextForm::Pattern
                if is_delimiter && escaped == close && !"$*+.?^|)]}>".contains(escaped) =>
            {
                Some(escaped)
            }
            TextForm::Pattern if escaped == '\n' || !escaped.is_ascii() => None,
            TextForm::Pattern => {
                if let Some(text) = text {
                    text.push('\\');
                }
                Some(escaped)
            }
            TextForm::Interpolated => match escaped {
                'n' => Some('\n'),
                't' => Some('\t'),
                c if c.is_ascii_punctuation() => Some(c),
                _ => None,
            },
        };
        match decoded {
            Some(c) => {
                if let Some(text) = text {
                    text.push(c);
                }
            }
            None => *text = None,
        }
    }
}

fn split_words(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_owned).collect()
}
