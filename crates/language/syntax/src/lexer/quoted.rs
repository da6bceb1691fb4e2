//! Quoted strings, and the tokens of any text with interpolation.

use std::borrow::Cow;

use super::escapes::{EscapeIrregularity, EscapeSet, unescape};
use super::words::variable_name;
use super::{LexerStep, LexerStop, SourceLexer, escaped};
use crate::token::TokenKind;

/// The rules for reading a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct QuotedTextRules {
    pub(super) escapes: EscapeSet,
    /// True if the text ends at a `"`; otherwise it ends with the input.
    pub(super) quotes: bool,
}

/// The end of a stretch of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuotedTextEnd {
    Text,
    Dollar,
    DollarBrace,
}

impl<'s> SourceLexer<'s, '_> {
    pub(super) fn single_quoted(&mut self) -> Result<LexerStep, LexerStop> {
        let start = self.pos;
        let rest = &self.text.as_bytes()[start + 1..];
        let ends = |byte| byte == b'\'';
        let found = find_doubled(rest, ends)
            .or_else(|| memchr::memchr_iter(b'\'', rest).find(|at| !escaped(&rest[..*at])));
        let Some(len) = found else {
            self.report_unclosed(start, start + 1, "\"'\"".to_owned());
            return Err(LexerStop);
        };
        let raw = &self.text[start + 1..start + 1 + len];
        let value = if memchr::memchr(b'\\', raw.as_bytes()).is_some() {
            self.out.interner.intern(&single_unescaped(raw))
        } else {
            self.out.interner.intern(raw)
        };
        self.pos = start + len + 2;
        Ok(self.token(TokenKind::String, start, Some(value)))
    }

    pub(super) fn double_quoted(&mut self) -> Result<LexerStep, LexerStop> {
        self.group(|lexer| {
            let start = lexer.pos;
            lexer.pos += 1;
            let style = QuotedTextRules {
                escapes: EscapeSet::DOUBLE_QUOTED,
                quotes: true,
            };
            lexer.interpolated(start, style)
        })
    }

    /// Reads text from here to its end, as [`TokenKind::String`] or as the tokens of an
    /// interpolation.
    pub(super) fn interpolated(
        &mut self,
        start: usize,
        style: QuotedTextRules,
    ) -> Result<LexerStep, LexerStop> {
        let mut before = start;
        let mut first = true;
        loop {
            let kinds = if first {
                (TokenKind::DqPre, TokenKind::String)
            } else {
                (TokenKind::DqMid, TokenKind::DqPost)
            };
            if self.segment(before, start, kinds, style)? == QuotedTextEnd::Text {
                let step = LexerStep::Token(TokenKind::String);
                return Ok(if first { step } else { LexerStep::Group });
            }
            first = false;
            before = self.pos;
        }
    }

    /// Reads text up to and including an interpolation, or up to the end.
    fn segment(
        &mut self,
        before: usize,
        start: usize,
        kinds: (TokenKind, TokenKind),
        style: QuotedTextRules,
    ) -> Result<QuotedTextEnd, LexerStop> {
        let mut value = Cow::Borrowed("");
        loop {
            let (text, ending) = self.stretch(start, style)?;
            add(&mut value, text);
            let name = match ending {
                QuotedTextEnd::Dollar => variable_name(&self.text.as_bytes()[self.pos..]),
                _ => 0,
            };
            if ending == QuotedTextEnd::Dollar && name == 0 {
                add(&mut value, Cow::Borrowed("$"));
                continue;
            }
            let value = Some(self.out.interner.intern(&value));
            match ending {
                QuotedTextEnd::Text => {
                    self.token(kinds.1, before, value);
                }
                QuotedTextEnd::Dollar => {
                    let dollar = self.pos - 1;
                    self.token_to(kinds.0, before..dollar, value);
                    self.pos += name;
                    let name = self.out.interner.intern(&self.text[dollar + 1..self.pos]);
                    self.token(TokenKind::Variable, dollar, Some(name));
                }
                QuotedTextEnd::DollarBrace => {
                    self.token(kinds.0, before, value);
                    self.interpolation()?;
                }
            }
            return Ok(ending);
        }
    }

    /// Reads text up to a character with a meaning, which is consumed.
    fn stretch(
        &mut self,
        start: usize,
        style: QuotedTextRules,
    ) -> Result<(Cow<'s, str>, QuotedTextEnd), LexerStop> {
        let from = self.pos;
        let rest = &self.text.as_bytes()[from..];
        let found = find_ending(rest, style);
        let (len, ending) = match found {
            Some(at) if rest[at] == b'"' && style.quotes => (at, QuotedTextEnd::Text),
            Some(at) if rest.get(at + 1) == Some(&b'{') => (at, QuotedTextEnd::DollarBrace),
            Some(at) => (at, QuotedTextEnd::Dollar),
            None if style.quotes => {
                let after = self.last_matched(start);
                self.report_unclosed(start, from, after);
                return Err(LexerStop);
            }
            None => (rest.len(), QuotedTextEnd::Text),
        };
        let width = match ending {
            QuotedTextEnd::Text => usize::from(style.quotes),
            QuotedTextEnd::Dollar => 1,
            QuotedTextEnd::DollarBrace => 2,
        };
        self.pos = from + len + width;
        let raw = &self.text[from..from + len];
        let mut oddities = Vec::new();
        let text = unescape(raw, style.escapes, |at, odd| oddities.push((at, odd)));
        for (at, odd) in oddities {
            self.report_escape(from + at, odd, style.quotes);
        }
        Ok((text, ending))
    }

    fn report_escape(&mut self, at: usize, odd: EscapeIrregularity, warn_unknown: bool) {
        let unicode = "Unicode escape '\\u' was not followed by 4 hex digits or 1-6 hex digits in {} \
                       or was > 10ffff";
        match odd {
            EscapeIrregularity::NoCharacter => {
                self.fault("ILLEGAL_UNICODE_ESCAPE", at..at + 2, unicode);
            }
            EscapeIrregularity::NoDigits => {
                self.warn("ILLEGAL_UNICODE_ESCAPE", at..at + 2, unicode.to_owned())
            }
            EscapeIrregularity::Unknown(letter) if warn_unknown => {
                let message = format!("Unrecognized escape sequence '\\{letter}'");
                self.warn(
                    "UNRECOGNIZED_ESCAPE",
                    at..at + 1 + letter.len_utf8(),
                    message,
                );
            }
            EscapeIrregularity::Unknown(_) => {}
        }
    }

    fn report_unclosed(&mut self, start: usize, from: usize, after: String) {
        let follows = &self.text[from..];
        let followed_by = if follows.is_empty() {
            "<eof>".to_owned()
        } else {
            let some: String = follows.chars().take(5).collect();
            let some = some.replace('\t', "\\t").replace('\n', "\\n");
            format!("{}...", some.replace('\r', "\\r"))
        };
        let opened = self.span(start..start + 1);
        let message = format!("Unclosed quote after {after} followed by '{followed_by}'");
        let width = follows.chars().next().map_or(0, char::len_utf8);
        let fault = self.fault("UNCLOSED_QUOTE", from..from + width, message);
        fault.labels.push(crate::diagnostic::DiagnosticLabel {
            span: opened,
            message: "the string begins here".into(),
        });
        let help = "close the string, or look above it for an earlier string that is not closed";
        fault.help.push(help.into());
    }

    /// The text that Puppet's message about an unterminated text names as last matched.
    fn last_matched(&self, start: usize) -> String {
        if self.pos == start + 1 {
            return "'\"'".to_owned();
        }
        let before = self.text[..self.pos].trim_end_matches('}');
        let blanks = before.len() - before.trim_end_matches([' ', '\t', '\r']).len();
        let seen = match self.out.tokens.last() {
            _ if blanks > 0 => &before[before.len() - blanks..],
            Some(token) => token.value.map_or("", |sym| self.out.interner.text(sym)),
            None => "",
        };
        format!("'{seen}'")
    }

    /// Runs a step that produces several tokens. If one of them is a fault, Puppet sees none of the
    /// others: the fault replaces them all.
    pub(super) fn group(
        &mut self,
        make: impl FnOnce(&mut Self) -> Result<LexerStep, LexerStop>,
    ) -> Result<LexerStep, LexerStop> {
        let start = self.pos;
        let tokens = self.out.tokens.len();
        let faults = self.out.faults.len();
        let made = make(self);
        if self.depth > 0 || self.out.faults.len() == faults {
            return made;
        }
        self.out.tokens.truncate(tokens);
        self.token(TokenKind::Error, start, None);
        for (index, _) in &mut self.out.faults[faults..] {
            *index = tokens;
        }
        made.map(|_| LexerStep::Token(TokenKind::Error))
    }
}

fn add<'t>(value: &mut Cow<'t, str>, text: Cow<'t, str>) {
    if value.is_empty() {
        *value = text;
    } else if !text.is_empty() {
        value.to_mut().push_str(&text);
    }
}

/// Puppet treats an ending at the start as text if another one follows it at once, so `'''` is a
/// string of one quote. Returns the position of that other one.
fn find_doubled(rest: &[u8], ends: impl Fn(u8) -> bool) -> Option<usize> {
    let first = rest.first().copied().is_some_and(&ends);
    if !first {
        return None;
    }
    let backslashes = rest[1..].iter().take_while(|byte| **byte == b'\\').count();
    let next = 1 + backslashes;
    (backslashes % 2 == 0 && rest.get(next).copied().is_some_and(ends)).then_some(next)
}

/// The first quote or dollar that is not escaped by a backslash.
fn find_ending(rest: &[u8], style: QuotedTextRules) -> Option<usize> {
    if style.quotes {
        if let Some(at) = find_doubled(rest, |byte| matches!(byte, b'"' | b'$')) {
            return Some(at);
        }
        return memchr::memchr2_iter(b'"', b'$', rest).find(|at| !escaped(&rest[..*at]));
    }
    let escapable = style.escapes.has('$');
    memchr::memchr_iter(b'$', rest).find(|at| !(escapable && escaped(&rest[..*at])))
}

/// `\\` and `\'` are the only escapes.
fn single_unescaped(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut characters = raw.chars().peekable();
    while let Some(character) = characters.next() {
        let next = (character == '\\')
            .then(|| characters.next_if(|next| matches!(next, '\\' | '\'')))
            .flatten();
        text.push(next.unwrap_or(character));
    }
    text
}
