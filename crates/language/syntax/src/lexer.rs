//! Converts source text to tokens: [`lex`]. Main type: [`SourceLexer`].
//!
//! The language is lexed in modes: code, quoted text, heredoc text, text of an EPP template. The
//! meaning of a character depends on the token before it (`/`, `{`), on the blank before it (`[`),
//! on whether it is first on its line (`(`), and on heredocs whose text begins at the next newline.
//!
//! Invariants: every input results in a list of tokens that ends with [`TokenKind::End`]; every
//! byte belongs to one token, to one comment or to the space between them; a fault is one
//! [`TokenKind::Error`] token at the position where Puppet would have stopped, with its diagnostic.

mod epp;
mod escapes;
mod heredoc;
mod interpolation;
mod numbers;
mod quoted;
mod symbols;
mod words;

use crate::SourceSpan;
use crate::ast::Sym;
use crate::comments::{Comment, CommentKind};
use crate::defaults::{MAX_SYNTAX_ERRORS, MAX_TOKENS, MAX_WARNINGS};
use crate::diagnostic::Diagnostic;
use crate::interner::SymbolInterner;
use crate::source::as_u32;
use crate::token::{SyntaxToken, TokenKind};

/// The kind of source to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LexerMode {
    pub(crate) epp: bool,
    /// `plan` and `apply` are keywords.
    pub(crate) tasks: bool,
}

/// The result of lexing.
#[derive(Debug)]
pub(crate) struct LexedSource {
    pub(crate) tokens: Vec<SyntaxToken>,
    pub(crate) comments: Vec<Comment>,
    pub(crate) interner: SymbolInterner,
    /// Faults, each with the index of the error token that represents it.
    pub(crate) faults: Vec<(usize, Diagnostic)>,
    pub(crate) warnings: Vec<Diagnostic>,
}

impl LexedSource {
    /// True if there are more tokens and comments than the limit allows.
    pub(crate) fn is_full(&self) -> bool {
        self.tokens.len() + self.comments.len() > MAX_TOKENS
    }
}

/// Reads the whole source.
pub(crate) fn lex(text: &str, mode: LexerMode) -> LexedSource {
    let mut out = LexedSource {
        // a token for every five bytes, as measured over modules
        tokens: Vec::with_capacity(text.len() / 5 + 8),
        comments: Vec::new(),
        interner: SymbolInterner::new(),
        faults: Vec::new(),
        warnings: Vec::new(),
    };
    let mut lexer = SourceLexer::new(text, mode, LexerTextOrigin::Whole, 0, &mut out);
    if mode.epp {
        lexer.epp_start();
    }
    lexer.run();
    let end = as_u32(text.len());
    out.tokens.push(SyntaxToken {
        kind: TokenKind::End,
        span: SourceSpan::new(end, end),
        value: None,
    });
    out
}

/// The position of a lexer's text in the file.
#[derive(Debug)]
pub(crate) enum LexerTextOrigin {
    Whole,
    /// Text of a heredoc.
    Lines {
        /// Start of the first line including its margin: the position of the text itself.
        start: u32,
        /// (offset in the text, offset in the file) of each line, margins left out.
        lines: Vec<(u32, u32)>,
    },
}

/// A position from which the lexer cannot continue; the next token is the end of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LexerStop;

/// The result of a step of the lexer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LexerStep {
    Trivia,
    Token(TokenKind),
    /// Several tokens: an interpolated string, a heredoc, text of a template.
    Group,
}

#[derive(Debug)]
struct SourceLexer<'s, 'o> {
    text: &'s str,
    pos: usize,
    text_origin: LexerTextOrigin,
    mode: LexerMode,
    /// The current tag, while inside `<% %>`.
    epp: Option<epp::EppTag>,
    epp_open: bool,
    /// The previous token's kind, on which regular expressions and selectors depend.
    after: TokenKind,
    line_start: usize,
    braces: i32,
    /// Position after the heredoc texts of this line, where lexing continues at the newline.
    newline_jump: Option<usize>,
    /// Number of interpolations around this position.
    depth: usize,
    out: &'o mut LexedSource,
}

// === impl SourceLexer ===

impl<'s, 'o> SourceLexer<'s, 'o> {
    fn new(
        text: &'s str,
        mode: LexerMode,
        places: LexerTextOrigin,
        depth: usize,
        out: &'o mut LexedSource,
    ) -> Self {
        Self {
            text,
            pos: 0,
            text_origin: places,
            mode,
            epp: None,
            epp_open: false,
            after: TokenKind::End,
            line_start: 0,
            braces: 0,
            newline_jump: None,
            depth,
            out,
        }
    }

    fn run(&mut self) {
        while self.pos < self.text.len() {
            let has_all_faults = self.depth == 0 && self.out.faults.len() >= MAX_SYNTAX_ERRORS;
            if has_all_faults || self.out.is_full() {
                // Further faults would not be reported.
                self.pos = self.text.len();
                return;
            }
            match self.step() {
                Ok(LexerStep::Trivia) => {}
                Ok(LexerStep::Token(kind)) => self.after = kind,
                Ok(LexerStep::Group) => {
                    self.after = self
                        .out
                        .tokens
                        .last()
                        .map_or(TokenKind::End, |last| last.kind);
                }
                Err(LexerStop) => self.pos = self.text.len(),
            }
        }
        if self.epp_open {
            self.fault(
                "EPP_UNBALANCED_TAG",
                self.pos..self.pos,
                "Unbalanced epp tag, reached <eof> without closing tag.",
            );
        }
    }

    /// Reads one token, one group of tokens, or one stretch of blanks or comment.
    fn step(&mut self) -> Result<LexerStep, LexerStop> {
        let byte = self.text.as_bytes()[self.pos];
        match byte {
            b' ' | b'\t' | b'\r' => {
                self.skip_blanks();
                Ok(LexerStep::Trivia)
            }
            b'\n' => {
                self.newline();
                Ok(LexerStep::Trivia)
            }
            b'a'..=b'z' | b'_' => Ok(self.word()),
            b'A'..=b'Z' => Ok(self.type_name()),
            b'0'..=b'9' => Ok(self.number()),
            b'$' => Ok(self.variable()),
            b'\'' => self.single_quoted(),
            b'"' => self.double_quoted(),
            b'#' => Ok(self.line_comment()),
            b'/' => self.slash(),
            b'@' if self.peek(1) == b'(' => self.heredoc(),
            b'%' if self.epp.is_some() && self.peek(1) == b'>' => self.epp_end(2),
            b'-' if self.epp.is_some() && self.peek(1) == b'%' && self.peek(2) == b'>' => {
                self.epp_end(3)
            }
            b':' if self.peek(1) == b':' => Ok(self.qualified()),
            0x80.. => Ok(self.lex_non_ascii()),
            _ => Ok(self.symbol(byte)),
        }
    }

    fn newline(&mut self) {
        self.pos = self.newline_jump.take().unwrap_or(self.pos + 1);
        self.line_start = self.pos;
    }

    fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.pos), Some(b' ' | b'\t' | b'\r')) {
            self.pos += 1;
        }
    }

    /// A Unicode blank, or a character without a meaning.
    fn lex_non_ascii(&mut self) -> LexerStep {
        let character = self.text[self.pos..].chars().next().unwrap_or(' ');
        let start = self.pos;
        self.pos += character.len_utf8();
        if is_blank(character) {
            return LexerStep::Trivia;
        }
        self.token(TokenKind::Other, start, None)
    }

    fn line_comment(&mut self) -> LexerStep {
        let rest = &self.text.as_bytes()[self.pos..];
        let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        self.comment(len, CommentKind::Line)
    }

    fn slash(&mut self) -> Result<LexerStep, LexerStop> {
        if self.peek(1) != b'*' {
            return Ok(self.regex_or_division());
        }
        let rest = &self.text.as_bytes()[self.pos + 2..];
        let Some(end) = memchr::memmem::find(rest, b"*/") else {
            let start = self.pos;
            self.fault(
                "UNCLOSED_MLCOMMENT",
                start..start + 2,
                "Unclosed multiline comment",
            );
            return Err(LexerStop);
        };
        Ok(self.comment(end + 4, CommentKind::Block))
    }

    fn comment(&mut self, len: usize, kind: CommentKind) -> LexerStep {
        let span = self.span(self.pos..self.pos + len);
        self.out.comments.push(Comment { span, kind });
        self.pos += len;
        LexerStep::Trivia
    }

    /// Reads `/…/` where a value may begin, and the operator elsewhere.
    fn regex_or_division(&mut self) -> LexerStep {
        let start = self.pos;
        if !self.after.ends_operand() {
            let rest = &self.text.as_bytes()[start + 1..];
            let ending = memchr::memchr_iter(b'/', rest).find(|at| !escaped(&rest[..*at]));
            if let Some(len) = ending {
                let source = &self.text[start + 1..start + 1 + len];
                let value = if memchr::memchr(b'\\', source.as_bytes()).is_some() {
                    self.out.interner.intern(&source.replace("\\/", "/"))
                } else {
                    self.out.interner.intern(source)
                };
                self.pos = start + len + 2;
                return self.regex(start, value);
            }
        }
        self.pos = start + 1;
        self.token(TokenKind::Div, start, None)
    }

    /// Puppet compiles a regular expression when lexing it, so an invalid one is a fault here.
    fn regex(&mut self, start: usize, value: Sym) -> LexerStep {
        let source = self.out.interner.text(value);
        let Err(error) = ruby_regex::Regex::new(source) else {
            return self.token(TokenKind::Regex, start, Some(value));
        };
        let message = error.to_string();
        self.fault("ILLEGAL_REGEX", start..self.pos, message);
        LexerStep::Token(TokenKind::Error)
    }

    // --- what all modes use ---

    /// The byte at the given distance ahead; 0 at the end.
    fn peek(&self, ahead: usize) -> u8 {
        self.text
            .as_bytes()
            .get(self.pos + ahead)
            .copied()
            .unwrap_or(0)
    }

    /// Converts a position of this lexer's text to a position of the file.
    fn source_offset(&self, at: usize) -> u32 {
        match &self.text_origin {
            LexerTextOrigin::Whole => as_u32(at),
            LexerTextOrigin::Lines { start, .. } if at == 0 => *start,
            LexerTextOrigin::Lines { lines, .. } => {
                let at = as_u32(at);
                let line = lines.partition_point(|(inside, _)| *inside <= at);
                let (inside, outside) = lines.get(line.wrapping_sub(1)).copied().unwrap_or((0, 0));
                outside + (at - inside)
            }
        }
    }

    /// The last byte is mapped, not the one after it, which may be after a margin.
    fn span(&self, range: std::ops::Range<usize>) -> SourceSpan {
        let start = self.source_offset(range.start);
        if range.is_empty() {
            return SourceSpan::new(start, start);
        }
        SourceSpan::new(start, self.source_offset(range.end - 1) + 1)
    }

    /// A token from `start` to the current position.
    fn token(&mut self, kind: TokenKind, start: usize, value: Option<Sym>) -> LexerStep {
        self.token_to(kind, start..self.pos, value)
    }

    fn token_to(
        &mut self,
        kind: TokenKind,
        range: std::ops::Range<usize>,
        value: Option<Sym>,
    ) -> LexerStep {
        let span = self.span(range);
        self.out.tokens.push(SyntaxToken { kind, span, value });
        LexerStep::Token(kind)
    }

    /// A fault: its token and its diagnostic, which the caller may extend.
    fn fault(
        &mut self,
        code: &'static str,
        range: std::ops::Range<usize>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        let span = self.span(range.clone());
        let index = self.out.tokens.len();
        self.token_to(TokenKind::Error, range, None);
        self.out
            .faults
            .push((index, Diagnostic::error(code, span, message)));
        let last = self.out.faults.len() - 1;
        &mut self.out.faults[last].1
    }

    fn warn(&mut self, code: &'static str, range: std::ops::Range<usize>, message: String) {
        if self.out.warnings.len() < MAX_WARNINGS {
            let span = self.span(range);
            let warning = Diagnostic::warning(code, span, message);
            self.out.warnings.push(warning);
        }
    }
}

/// The blanks that Ruby's `[[:blank:]]` matches beyond ASCII.
pub(crate) fn is_blank(character: char) -> bool {
    matches!(
        character,
        ' ' | '\t' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// True if the text ends with an odd number of backslashes.
fn escaped(before: &[u8]) -> bool {
    let run = before
        .iter()
        .rev()
        .take_while(|byte| **byte == b'\\')
        .count();
    run % 2 == 1
}
