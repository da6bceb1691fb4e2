//! `@(TAG)` and its text, which begins on the next line.
//!
//! Invariants: the texts of several heredocs of one line follow one another; the rest of the line
//! is code. The margin is removed from lines that have exactly that margin, and positions inside
//! the text remain those of the file.

use super::escapes::EscapeSet;
use super::quoted::QuotedTextRules;
use super::{LexerStep, LexerStop, LexerTextOrigin, SourceLexer, is_blank};
use crate::ast::Sym;
use crate::defaults::MAX_INTERPOLATION_DEPTH;
use crate::source::as_u32;
use crate::token::TokenKind;

/// The contents of the parentheses.
#[derive(Debug)]
struct HeredocTag {
    end: String,
    syntax: String,
    interpolate: bool,
    escapes: EscapeSet,
}

/// The line that ends the text.
#[derive(Debug, PartialEq, Eq)]
struct EndLine<'t> {
    leading: &'t str,
    margin: bool,
    chomp: bool,
}

impl SourceLexer<'_, '_> {
    pub(super) fn heredoc(&mut self) -> Result<LexerStep, LexerStop> {
        self.group(|lexer| {
            let start = lexer.pos;
            let rest = &lexer.text.as_bytes()[start..];
            let Some(close) = memchr::memchr(b')', rest) else {
                let some: String = lexer.text[start..].chars().take(5).collect();
                let some = some.replace('\t', "\\t").replace('\n', "\\n");
                let message = format!("Unclosed parenthesis after '@(' followed by '{some}...'");
                lexer.fault("HEREDOC_UNCLOSED_PARENTHESIS", start..start + 2, message);
                return Err(LexerStop);
            };
            let after = start + close + 1;
            lexer.pos = after;
            let Some(tag) = lexer.heredoc_tag(start, after) else {
                return Ok(LexerStep::Group);
            };
            let syntax = (!tag.syntax.is_empty()).then(|| lexer.out.interner.intern(&tag.syntax));
            lexer.token(TokenKind::Heredoc, start, syntax);
            let made = lexer.heredoc_text(start, &tag);
            lexer.pos = after;
            made.map(|()| LexerStep::Group)
        })
    }

    /// Reads the tag; `None` if it is invalid, and then a fault has been reported.
    fn heredoc_tag(&mut self, start: usize, after: usize) -> Option<HeredocTag> {
        let inner = &self.text[start + 2..after - 1];
        let Some((name, syntax, escapes)) = split_tag(inner) else {
            let fault = self.fault(
                "HEREDOC_INVALID_SYNTAX",
                after..after,
                "Invalid syntax in heredoc expected @(endtag[:syntax][/escapes])",
            );
            fault.label = Some("for example @(\"END\":json/L)".into());
            return None;
        };
        let name = name.trim();
        let quoted = name
            .strip_prefix('"')
            .and_then(|name| name.strip_suffix('"'));
        let end = quoted.map_or(name, str::trim);
        if end.is_empty() {
            self.fault(
                "HEREDOC_EMPTY_ENDTAG",
                after..after,
                "Heredoc with an empty endtag",
            );
            return None;
        }
        let escapes = self.heredoc_escapes(escapes, after)?;
        Some(HeredocTag {
            end: end.to_owned(),
            syntax: syntax.to_owned(),
            interpolate: quoted.is_some(),
            escapes,
        })
    }

    fn heredoc_escapes(&mut self, names: Option<&str>, after: usize) -> Option<EscapeSet> {
        let mut escapes = EscapeSet::NONE;
        let names = match names {
            None => return Some(escapes),
            Some("") => "trnsuL$",
            Some(names) => names,
        };
        let twice = names
            .char_indices()
            .any(|(at, name)| names[..at].contains(name));
        if twice {
            let list: Vec<String> = names.chars().map(String::from).collect();
            let message = format!(
                "An escape char for @() may only appear once. Got '{}'",
                list.join(", ")
            );
            self.fault("HEREDOC_MULTIPLE_AT_ESCAPES", after..after, message);
            return None;
        }
        for name in names.chars() {
            if !escapes.add_heredoc(name) {
                let message = format!(
                    "Invalid heredoc escape char. Only t, r, n, s,  u, L, $ allowed. Got '{name}'"
                );
                self.fault("HEREDOC_INVALID_ESCAPE", after..after, message);
                return None;
            }
        }
        Some(escapes)
    }

    /// Finds the text, removes its margin and lexes it.
    fn heredoc_text(&mut self, start: usize, tag: &HeredocTag) -> Result<(), LexerStop> {
        let text = self.text;
        let from = match self.newline_jump {
            Some(jump) => jump,
            None => match memchr::memchr(b'\n', &text.as_bytes()[self.pos..]) {
                Some(newline) => self.pos + newline + 1,
                None => {
                    self.fault(
                        "HEREDOC_WITHOUT_TEXT",
                        self.pos..self.pos,
                        "Heredoc without any following lines of text",
                    );
                    return Err(LexerStop);
                }
            },
        };
        let mut lines = Vec::new();
        let mut at = from;
        while at < text.len() {
            let line_end = memchr::memchr(b'\n', &text.as_bytes()[at..])
                .map_or(text.len(), |newline| at + newline + 1);
            let line = &text[at..line_end];
            if let Some(end) = end_line(line, &tag.end) {
                self.newline_jump = Some(line_end);
                return self.heredoc_body(from, &lines, &end, tag);
            }
            lines.push((at, line));
            at = line_end;
        }
        let opened = self.span(start..self.pos);
        let fault = self.fault(
            "HEREDOC_WITHOUT_END_TAGGED_LINE",
            from..from,
            "Heredoc without end-tagged line",
        );
        fault.labels.push(crate::diagnostic::DiagnosticLabel {
            span: opened,
            message: "the heredoc begins here".into(),
        });
        let help = format!("end the text by a line `| {}`", tag.end);
        fault.help.push(help.into());
        Err(LexerStop)
    }

    fn heredoc_body(
        &mut self,
        from: usize,
        lines: &[(usize, &str)],
        end: &EndLine<'_>,
        tag: &HeredocTag,
    ) -> Result<(), LexerStop> {
        let mut text = String::new();
        let mut places = Vec::with_capacity(lines.len() + 1);
        for (at, line) in lines {
            let cut = if end.margin && line.starts_with(end.leading) {
                end.leading.len()
            } else {
                0
            };
            places.push((as_u32(text.len()), self.source_offset(at + cut)));
            text.push_str(&line[cut..]);
        }
        if end.chomp && text.ends_with('\n') {
            text.pop();
            if text.ends_with('\r') {
                text.pop();
            }
        }
        let start = self.source_offset(from);
        if places.is_empty() {
            places.push((0, start));
        }
        if self.depth >= MAX_INTERPOLATION_DEPTH {
            let message =
                format!("Heredocs are nested more than {MAX_INTERPOLATION_DEPTH} levels deep");
            self.fault("TOO_DEEP", self.pos..self.pos, message);
            return Err(LexerStop);
        }
        let places = LexerTextOrigin::Lines {
            start,
            lines: places,
        };
        let mut inner = SourceLexer::new(&text, self.mode, places, self.depth + 1, self.out);
        if tag.interpolate {
            let style = QuotedTextRules {
                escapes: tag.escapes,
                quotes: false,
            };
            inner.interpolated(0, style).map(|_| ())
        } else {
            let value: Sym = inner.plain_text(tag.escapes);
            inner.pos = text.len();
            inner.token(TokenKind::String, 0, Some(value));
            Ok(())
        }
    }

    fn plain_text(&mut self, escapes: EscapeSet) -> Sym {
        let text = super::escapes::unescape(self.text, escapes, |_, _| {});
        self.out.interner.intern(&text)
    }
}

/// Splits `name:syntax/escapes`, of which the last two are optional. `None` if it has another form.
fn split_tag(inner: &str) -> Option<(&str, &str, Option<&str>)> {
    let name_end = inner.find([':', '/', '\r', '\n']).unwrap_or(inner.len());
    let (name, rest) = inner.split_at(name_end);
    if name.is_empty() {
        return None;
    }
    let (syntax, rest) = match rest.strip_prefix(':') {
        None => ("", rest),
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let syntax = rest[..end].trim_matches(is_blank);
            let mut bytes = syntax.bytes();
            let good = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase())
                && syntax.len() > 1
                && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+'));
            if !good {
                return None;
            }
            (syntax, &rest[end..])
        }
    };
    if rest.is_empty() {
        return Some((name, syntax, None));
    }
    let escapes = rest.strip_prefix('/')?.trim_end_matches(is_blank);
    let good = escapes
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'));
    good.then_some((name, syntax, Some(escapes)))
}

/// Recognises the line that ends the text. Puppet looks only at the end of the line.
fn end_line<'t>(line: &'t str, tag: &str) -> Option<EndLine<'t>> {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    let before = line.trim_end_matches(is_blank).strip_suffix(tag)?;
    let rest = before.trim_end_matches(is_blank);
    let (rest, chomp) = match rest.strip_suffix('-') {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let unbarred = rest.trim_end_matches(is_blank);
    let (head, margin) = match unbarred.strip_suffix('|') {
        Some(head) => (head, true),
        None if chomp => (rest, false),
        None => (before, false),
    };
    let blanks = head.trim_end_matches(is_blank).len();
    Some(EndLine {
        leading: &head[blanks..],
        margin,
        chomp,
    })
}
