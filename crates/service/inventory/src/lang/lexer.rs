//! PQL text as tokens, one at a time: [`PqlLexer`].

use serde_json::Number;

use super::{UnsupportedQuery, invalid};

/// One token of PQL.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PqlToken {
    /// A name or keyword, dots, quotes and indexes of a path included.
    Name(String),
    Text(String),
    Number(Number),
    /// `{ } [ ] ( ) ,` and operators.
    Sign(&'static str),
    End,
}

/// The signs, longer ones first.
const SIGNS: &[&str] = &[
    "~>", "!=", "!~", "<=", ">=", "=", "~", "<", ">", "!", "{", "}", "[", "]", "(", ")", ",",
];

/// A cursor over the text.
pub(super) struct PqlLexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> PqlLexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The next token and where it begins.
    pub(super) fn next_token(&mut self) -> Result<(usize, PqlToken), UnsupportedQuery> {
        self.at = self.text.len() - self.rest().trim_start().len();
        let start = self.at;
        let token = match self.rest().chars().next() {
            None => PqlToken::End,
            Some(quote @ ('"' | '\'')) => self.read_text(start, quote)?,
            Some(c) if c.is_ascii_digit() || self.is_negative_number() => {
                self.read_number(start)?
            }
            Some(c) if is_name(c) => self.read_name(start)?,
            Some(c) => match SIGNS.iter().find(|sign| self.rest().starts_with(**sign)) {
                Some(sign) => {
                    self.at += sign.len();
                    PqlToken::Sign(sign)
                }
                None => return Err(self.to_error(start, format!("unexpected {c:?}"))),
            },
        };
        Ok((start, token))
    }

    /// An error at a byte of the text.
    pub(super) fn to_error(&self, at: usize, what: impl Into<String>) -> UnsupportedQuery {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let last = before.rsplit('\n').next().unwrap_or_default();
        let column = last.chars().count() + 1;
        invalid(format!("line {line}, column {column}"), what)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn is_negative_number(&self) -> bool {
        let mut bytes = self.rest().bytes();
        bytes.next() == Some(b'-') && bytes.next().is_some_and(|b| b.is_ascii_digit())
    }

    fn read_text(&mut self, start: usize, quote: char) -> Result<PqlToken, UnsupportedQuery> {
        let mut text = String::new();
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((offset, c)) = characters.next() {
            match c {
                c if c == quote => {
                    self.at += offset + 1;
                    return Ok(PqlToken::Text(text));
                }
                // Only the quote and the backslash are escaped; `\d` of a regular expression
                // stays.
                '\\' => match characters.next() {
                    Some((_, c)) if c == quote || c == '\\' => {
                        text.push(c);
                    }
                    Some((_, c)) => text.extend(['\\', c]),
                    None => break,
                },
                c => text.push(c),
            }
        }
        Err(self.to_error(start, "the string is not closed"))
    }

    fn read_number(&mut self, start: usize) -> Result<PqlToken, UnsupportedQuery> {
        let rest = self.rest();
        let mut end = 1;
        for (offset, byte) in rest.bytes().enumerate().skip(1) {
            let exponent_sign =
                matches!(byte, b'+' | b'-') && matches!(rest.as_bytes()[offset - 1], b'e' | b'E');
            if !(byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E') || exponent_sign) {
                break;
            }
            end = offset + 1;
        }
        let number =
            serde_json::from_str(&rest[..end]).map_err(|_| self.to_error(start, "not a number"))?;
        self.at += end;
        if self.rest().starts_with(is_name) {
            return Err(self.to_error(start, "not a number; put strings in quotes"));
        }
        Ok(PqlToken::Number(number))
    }

    /// A name with its path: `facts.os."a b".list[0]`. A `[` belongs to it only before a digit:
    /// `nodes[certname]` is a name and a list.
    fn read_name(&mut self, start: usize) -> Result<PqlToken, UnsupportedQuery> {
        loop {
            let rest = self.rest();
            if let Some(inside) = rest.strip_prefix('"') {
                let end = inside
                    .find('"')
                    .ok_or_else(|| self.to_error(start, "a quote in the field is not closed"))?;
                self.at += end + 2;
            } else {
                self.at += rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            }
            while let Some(length) = index_length(self.rest()) {
                self.at += length;
            }
            match self.rest().strip_prefix('.') {
                Some(after) if after.starts_with(|c| is_name(c) || c == '"') => self.at += 1,
                _ => return Ok(PqlToken::Name(self.text[start..self.at].to_owned())),
            }
        }
    }
}

/// The length of `[12]` at the begin of `rest`.
fn index_length(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('[')?;
    let digits = inside.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0 && inside.as_bytes().get(digits) == Some(&b']')).then_some(digits + 2)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '?' | '-' | ':')
}
