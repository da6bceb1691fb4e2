//! Text to tokens: [`lex`].
//!
//! Ruby cannot be read without knowing its variables and methods: `a /b` is a division or a call
//! with a pattern. Blanks decide as Ruby's own warning says; what remains open is an error.
//!
//! Invariant: the time is linear in the size of the text, and nesting is bounded by
//! [`MAX_RUBY_NESTING`].

use std::collections::HashSet;
use std::ops::Range;

use super::token::{RegexLiteral, RubyToken, RubyTokenKind};
use crate::defaults::{MAX_RUBY_BYTES, MAX_RUBY_NESTING};

/// A place that cannot be read with certainty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RubyFault {
    /// Line, counted from 1.
    pub(super) line: u32,
    pub(super) reason: String,
}

/// The text that is read to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LexedPart {
    File,
    /// Code in `#{}`.
    Interpolation,
}

/// The tokens of a file.
#[derive(Debug, Default)]
pub(super) struct LexedRuby {
    pub(super) tokens: Vec<RubyToken>,
    /// Tokens of the code in `#{}`, by their place.
    pub(super) interpolated: Vec<RubyToken>,
    /// Texts of more than one line.
    pub(super) documents: Vec<Range<usize>>,
    /// Texts of heredocs that may run code in `#{}`; that code is not read.
    pub(super) unread: Vec<Range<usize>>,
}

/// Reads a file, up to `__END__`.
pub(super) fn lex(source: &str) -> Result<LexedRuby, RubyFault> {
    if source.len() > MAX_RUBY_BYTES {
        return Err(RubyFault {
            line: 1,
            reason: format!("the file is larger than {MAX_RUBY_BYTES} bytes"),
        });
    }
    let mut lexer = Lexer::new(source);
    lexer.lex_until_end(LexedPart::File)?;
    lexer.interpolated.sort_by_key(|token| token.range.start);
    Ok(LexedRuby {
        tokens: lexer.tokens,
        interpolated: lexer.interpolated,
        documents: lexer.documents,
        unread: lexer.unread,
    })
}

pub(super) struct Lexer<'s> {
    pub(super) source: &'s str,
    pub(super) at: usize,
    pub(super) line: u32,
    pub(super) tokens: Vec<RubyToken>,
    pub(super) interpolated: Vec<RubyToken>,
    pub(super) documents: Vec<Range<usize>>,
    pub(super) unread: Vec<Range<usize>>,
    /// Heredocs whose text begins on the next line.
    pub(super) heredocs: Vec<PendingHeredoc>,
    /// Names that were assigned or are parameters, so that `a /b` divides.
    pub(super) variables: HashSet<&'s str>,
    /// True between the bars or parentheses of parameters.
    pub(super) in_parameters: bool,
    /// Place of the code after the last blank region that was passed, and true if it begins with a
    /// dot. It answers for each line of that region.
    next_code: Option<(usize, bool)>,
    nesting: usize,
}

pub(super) struct PendingHeredoc {
    /// Index of the token that stands for its text.
    pub(super) token: usize,
    /// True for `<<~`: the common indentation of the lines is no part of the text.
    pub(super) is_squiggly: bool,
    pub(super) terminator: String,
    pub(super) is_indented: bool,
    /// False if the name of its end stands in single quotes.
    pub(super) is_interpolated: bool,
}

/// Operators of more than one character, the longest first.
const OPERATORS: &[&str] = &[
    "<=>", "===", "**=", "...", "<<=", ">>=", "&&=", "||=", "&.", "**", "==", "!=", ">=", "<=",
    "&&", "||", "=~", "!~", "..", "::", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<", ">>",
    "->", "=>",
];

/// Names of operator methods, the longest first.
pub(super) const OPERATOR_METHODS: &[&str] = &[
    "[]=", "<=>", "===", "[]", "==", "=~", "!=", "!~", "**", "+@", "-@", "~@", "!@", "<<", ">>",
    "<=", ">=", "+", "-", "*", "/", "%", "<", ">", "!", "~", "^", "&", "|", "`",
];

impl<'s> Lexer<'s> {
    fn new(source: &'s str) -> Self {
        Self {
            source,
            at: 0,
            line: 1,
            tokens: Vec::new(),
            interpolated: Vec::new(),
            documents: Vec::new(),
            unread: Vec::new(),
            heredocs: Vec::new(),
            variables: HashSet::new(),
            in_parameters: false,
            next_code: None,
            nesting: 0,
        }
    }

    pub(super) fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn peek_after(&self, bytes: usize) -> Option<char> {
        self.source.get(self.at + bytes..)?.chars().next()
    }

    pub(super) fn fault<T>(&self, reason: impl Into<String>) -> Result<T, RubyFault> {
        Err(RubyFault {
            line: self.line,
            reason: reason.into(),
        })
    }

    /// Moves past some bytes, which end at a character, and counts their lines.
    pub(super) fn advance(&mut self, bytes: usize) {
        let end = self.at + bytes;
        let passed = self.source.as_bytes().get(self.at..end);
        let lines = passed.map_or(0, |it| it.iter().filter(|&&byte| byte == b'\n').count());
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(0));
        self.at = end;
    }

    /// Moves past the next character.
    pub(super) fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.advance(next.len_utf8());
        Some(next)
    }

    pub(super) fn push(&mut self, kind: RubyTokenKind, start: usize, line: u32) {
        let range = start..self.at;
        self.tokens.push(RubyToken { kind, range, line });
    }

    /// Reads to the end of the text, or past the brace that closes an interpolation.
    fn lex_until_end(&mut self, part: LexedPart) -> Result<(), RubyFault> {
        let mut braces = 0_usize;
        loop {
            let spaced = self.skip_blanks();
            let Some(next) = self.peek() else {
                return match part {
                    LexedPart::Interpolation => self.fault("an interpolation without an end"),
                    LexedPart::File => Ok(()),
                };
            };
            if part == LexedPart::Interpolation {
                match next {
                    '{' => braces += 1,
                    '}' if braces == 0 => {
                        self.advance(1);
                        return Ok(());
                    }
                    '}' => braces -= 1,
                    _ => {}
                }
            }
            if self.is_at_line_start() && self.skip_section()? {
                continue;
            }
            self.token(next, spaced)?;
        }
    }

    /// Reads the code of an interpolation, after its `#{`.
    pub(super) fn interpolation(&mut self) -> Result<(), RubyFault> {
        if self.nesting >= MAX_RUBY_NESTING {
            return self.fault("texts are nested too deeply in each other");
        }
        self.nesting += 1;
        let outer = std::mem::take(&mut self.tokens);
        let heredocs = self.heredocs.len();
        let read = self.lex_until_end(LexedPart::Interpolation);
        let inner = std::mem::replace(&mut self.tokens, outer);
        self.interpolated.extend(inner);
        self.nesting -= 1;
        read?;
        match self.heredocs.len() == heredocs {
            true => Ok(()),
            false => self.fault("a heredoc within an interpolation"),
        }
    }

    fn is_at_line_start(&self) -> bool {
        self.at == 0 || self.source.as_bytes().get(self.at - 1) == Some(&b'\n')
    }

    /// Skips blanks, comments and escaped ends of lines. True if there were any.
    fn skip_blanks(&mut self) -> bool {
        let start = self.at;
        loop {
            let rest = self.rest();
            if rest.starts_with("\\\n") {
                self.advance(2);
            } else if rest.starts_with("\\\r\n") {
                self.advance(3);
            } else if rest.starts_with([' ', '\t', '\r', '\x0c', '\x0b']) {
                self.advance(1);
            } else if rest.starts_with('#') {
                self.advance(rest.find('\n').unwrap_or(rest.len()));
            } else {
                return self.at > start;
            }
        }
    }

    /// Skips `=begin` to `=end`, and everything after `__END__`.
    fn skip_section(&mut self) -> Result<bool, RubyFault> {
        let rest = self.rest();
        let first = rest.lines().next().unwrap_or_default();
        if first.trim_end_matches('\r') == "__END__" {
            self.at = self.source.len();
            return Ok(true);
        }
        if !first.starts_with("=begin") || first[6..].starts_with(|c: char| !c.is_whitespace()) {
            return Ok(false);
        }
        let Some(end) = rest.find("\n=end") else {
            return self.fault("a comment without an end");
        };
        let after = &rest[end + 1..];
        let length = end + 1 + after.find('\n').unwrap_or(after.len());
        self.advance(length);
        Ok(true)
    }

    fn token(&mut self, next: char, spaced: bool) -> Result<(), RubyFault> {
        let (start, line) = (self.at, self.line);
        match next {
            '\n' => self.newline(),
            ';' => {
                self.advance(1);
                self.push(RubyTokenKind::Newline, start, line);
                Ok(())
            }
            '0'..='9' => self.number(),
            '@' | '$' => self.variable(),
            'a'..='z' | 'A'..='Z' | '_' => self.word(),
            c if !c.is_ascii() => self.word(),
            _ if self.literal(next, spaced)? => Ok(()),
            _ => self.operator(),
        }
    }

    fn newline(&mut self) -> Result<(), RubyFault> {
        let (start, line) = (self.at, self.line);
        self.advance(1);
        let had_heredocs = !self.heredocs.is_empty();
        self.heredoc_bodies()?;
        let continues = self.is_continued(had_heredocs);
        if !continues {
            let range = start..start + 1;
            let kind = RubyTokenKind::Newline;
            self.tokens.push(RubyToken { kind, range, line });
        }
        Ok(())
    }

    /// True if no statement ends here: there is none yet, it ends in an operator, or the next line of
    /// code begins with a dot.
    fn is_continued(&mut self, had_heredocs: bool) -> bool {
        let Some(last) = self.tokens.last() else {
            return true;
        };
        if last.kind == RubyTokenKind::Newline {
            return true;
        }
        if last.kind == RubyTokenKind::Operator {
            let text = self.text(last);
            let ends = matches!(text, ")" | "]" | "}" | "|" | ".." | "...");
            if !ends && !self.is_method_name(self.tokens.len() - 1) {
                return true;
            }
        }
        if had_heredocs {
            return false;
        }
        self.begins_next_code_with_dot()
    }

    /// True if the next line of code begins with a dot.
    fn begins_next_code_with_dot(&mut self) -> bool {
        if let Some((place, begins)) = self.next_code
            && self.at <= place
        {
            return begins;
        }
        let mut place = self.at;
        for line in self.rest().split_inclusive('\n') {
            let code = line.trim_start();
            if !code.is_empty() && !code.starts_with('#') {
                let is_dot = code.starts_with('.') && !code.starts_with("..");
                let begins = is_dot || code.starts_with("&.");
                self.next_code = Some((place, begins));
                return begins;
            }
            place += line.len();
        }
        self.next_code = Some((place, false));
        false
    }

    fn operator(&mut self) -> Result<(), RubyFault> {
        let (start, line) = (self.at, self.line);
        let rest = self.rest();
        let names = match self.expects_method_name() {
            true => OPERATOR_METHODS,
            false => OPERATORS,
        };
        let length = match names.iter().find(|it| rest.starts_with(**it)) {
            Some(operator) => operator.len(),
            None if rest.starts_with(is_operator) => 1,
            None => return self.fault("a character that is not part of Ruby"),
        };
        self.advance(length);
        self.note_variables(&self.source[start..self.at]);
        self.push(RubyTokenKind::Operator, start, line);
        Ok(())
    }

    pub(super) fn push_regex(&mut self, literal: RegexLiteral, start: usize, line: u32) {
        self.push(RubyTokenKind::Regex(literal), start, line);
    }
}

fn is_operator(c: char) -> bool {
    "()[]{}.,+-*/%<>=!?:&|^~".contains(c)
}
