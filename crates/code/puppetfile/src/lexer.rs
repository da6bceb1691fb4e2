//! The lexer: splits a text into tokens. Main function: [`tokenize`].
//!
//! Invariant: the end of a line ends a statement, except if the line clearly continues: after a
//! comma, an operator or a backslash, and in brackets.

use crate::error::{PuppetfileError, PuppetfileErrors, PuppetfilePosition};
use crate::strings;
use crate::token::{PuppetfileToken, PuppetfileTokenKind, QuotedPiece};

/// The position of the lexer in the text.
pub(crate) struct LexerCursor<'t> {
    rest: std::str::Chars<'t>,
    pub(crate) at: PuppetfilePosition,
}

struct PuppetfileLexer<'t> {
    cursor: LexerCursor<'t>,
    tokens: Vec<PuppetfileToken>,
    mistakes: PuppetfileErrors,
    /// Number of open brackets.
    depth: usize,
}

/// The tokens of a text, and the errors in them. The last token is a [`PuppetfileTokenKind::End`].
pub(crate) fn tokenize(text: &str) -> (Vec<PuppetfileToken>, PuppetfileErrors) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lexer = PuppetfileLexer {
        cursor: LexerCursor {
            rest: text.chars(),
            at: PuppetfilePosition::START,
        },
        tokens: Vec::new(),
        mistakes: PuppetfileErrors::default(),
        depth: 0,
    };
    while lexer.read_token() {}
    let at = lexer.cursor.at;
    lexer.tokens.push(PuppetfileToken {
        kind: PuppetfileTokenKind::End,
        at,
    });
    (lexer.tokens, lexer.mistakes)
}

// === impl LexerCursor ===

impl LexerCursor<'_> {
    pub(crate) fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    pub(crate) fn starts_with(&self, text: &str) -> bool {
        self.rest.as_str().starts_with(text)
    }

    pub(crate) fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        if c == '\n' {
            self.at.line = self.at.line.saturating_add(1);
            self.at.column = 1;
        } else {
            self.at.column = self.at.column.saturating_add(1);
        }
        Some(c)
    }

    pub(crate) fn take_if(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.next();
        }
        is_there
    }

    pub(crate) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(c) = self.peek().filter(|c| wanted(*c)) {
            taken.push(c);
            self.next();
        }
        taken
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.next();
        }
    }
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

// === impl PuppetfileLexer ===

impl PuppetfileLexer<'_> {
    /// Reads one token; `false` at the end of the text.
    fn read_token(&mut self) -> bool {
        let at = self.cursor.at;
        let Some(c) = self.cursor.peek() else {
            return false;
        };
        if at.column == 1 && c == '=' && self.cursor.starts_with("=begin") {
            self.skip_block_comment(at);
            return true;
        }
        if at.column == 1 && self.cursor.starts_with("__END__") {
            return false;
        }
        match c {
            '\n' => {
                self.cursor.next();
                self.push_end_of_line(at);
            }
            ';' => {
                self.cursor.next();
                self.push(PuppetfileTokenKind::End, at);
            }
            '#' => self.cursor.skip_line(),
            c if c.is_whitespace() => drop(self.cursor.next()),
            '\\' => self.read_backslash(at),
            '\'' | '"' => self.read_text(c, at),
            ':' => self.read_symbol(at),
            '%' => self.read_percent_literal(at),
            '=' => {
                self.cursor.next();
                let kind = match self.cursor.take_if('>') {
                    true => PuppetfileTokenKind::Arrow,
                    false => PuppetfileTokenKind::Mark('='),
                };
                self.push(kind, at);
            }
            ',' | '+' | '.' | '(' | ')' | '[' | ']' | '{' | '}' => {
                self.cursor.next();
                self.push_mark(c, at);
            }
            c if c.is_ascii_digit() => {
                let digits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
                let number = self.cursor.take_while(digits);
                self.push(PuppetfileTokenKind::Number(number), at);
            }
            c if is_word(c) => self.read_name(at),
            _ => self.refuse(at),
        }
        true
    }

    fn push(&mut self, kind: PuppetfileTokenKind, at: PuppetfilePosition) {
        self.tokens.push(PuppetfileToken { kind, at });
    }

    fn push_error(&mut self, at: PuppetfilePosition, what: impl Into<String>) {
        self.mistakes.push(PuppetfileError::new(at, what));
    }

    fn push_mark(&mut self, mark: char, at: PuppetfilePosition) {
        match mark {
            '(' | '[' | '{' => self.depth += 1,
            ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.push(PuppetfileTokenKind::Mark(mark), at);
    }

    fn push_end_of_line(&mut self, at: PuppetfilePosition) {
        let goes_on = match self.tokens.last().map(|last| &last.kind) {
            Some(
                PuppetfileTokenKind::Mark(',' | '+' | '.' | '=')
                | PuppetfileTokenKind::Arrow
                | PuppetfileTokenKind::Label(_),
            ) => true,
            Some(PuppetfileTokenKind::End) | None => true,
            Some(_) => self.depth > 0,
        };
        if !goes_on {
            self.push(PuppetfileTokenKind::End, at);
        }
    }

    fn read_backslash(&mut self, at: PuppetfilePosition) {
        self.cursor.next();
        self.cursor.take_if('\r');
        if !self.cursor.take_if('\n') {
            self.push_error(at, "a backslash outside of a text only ends a line");
        }
    }

    fn skip_block_comment(&mut self, at: PuppetfilePosition) {
        loop {
            self.cursor.skip_line();
            if self.cursor.next().is_none() {
                self.push_error(at, "this comment has no =end");
                return;
            }
            if self.cursor.starts_with("=end") {
                self.cursor.skip_line();
                return;
            }
        }
    }

    fn read_text(&mut self, quote: char, at: PuppetfilePosition) {
        self.cursor.next();
        let pieces = self.read_quoted(quote, at);
        let is_label = self.cursor.peek() == Some(':') && !self.cursor.starts_with("::");
        match pieces.as_slice() {
            [QuotedPiece::Literal(text)] if is_label => {
                let label = PuppetfileTokenKind::Label(text.clone());
                self.cursor.next();
                self.push(label, at);
            }
            _ => self.push(PuppetfileTokenKind::Text(pieces), at),
        }
    }

    /// Reads a text up to the closing quote; the opening quote was read before.
    fn read_quoted(&mut self, quote: char, at: PuppetfilePosition) -> Vec<QuotedPiece> {
        let read = match quote {
            '"' => strings::read_double_quoted(&mut self.cursor, '"', '"'),
            _ => strings::read_single_quoted(&mut self.cursor, '\'', '\''),
        };
        read.unwrap_or_else(|what| {
            self.push_error(at, what);
            // A placeholder that causes no further error.
            vec![QuotedPiece::Literal("x".to_owned())]
        })
    }

    fn read_symbol(&mut self, at: PuppetfilePosition) {
        self.cursor.next();
        match self.cursor.peek() {
            Some(quote @ ('\'' | '"')) => {
                self.cursor.next();
                let pieces = self.read_quoted(quote, at);
                match pieces.as_slice() {
                    [QuotedPiece::Literal(name)] => {
                        let symbol = PuppetfileTokenKind::Symbol(name.clone());
                        self.push(symbol, at);
                    }
                    _ => self.push_error(at, "a symbol is a plain name here"),
                }
            }
            Some(c) if is_word(c) => {
                let name = self.cursor.take_while(is_word);
                self.push(PuppetfileTokenKind::Symbol(name), at);
            }
            _ => self.push(PuppetfileTokenKind::Refused("a lone :".to_owned()), at),
        }
    }

    fn read_name(&mut self, at: PuppetfilePosition) {
        let mut name = self.cursor.take_while(is_word);
        if let Some(mark @ ('?' | '!')) = self.cursor.peek() {
            self.cursor.next();
            name.push(mark);
        }
        let is_label = self.cursor.peek() == Some(':') && !self.cursor.starts_with("::");
        if is_label {
            self.cursor.next();
            self.push(PuppetfileTokenKind::Label(name), at);
        } else {
            self.push(PuppetfileTokenKind::Word(name), at);
        }
    }

    fn read_percent_literal(&mut self, at: PuppetfilePosition) {
        self.cursor.next();
        let kind = self.cursor.peek().unwrap_or(' ');
        let mut ahead = self.cursor.rest.clone().skip(1);
        let open = match kind {
            'w' | 'i' | 'q' | 'Q' => ahead.next(),
            _ => None,
        };
        let Some(close) = open.and_then(strings::closing_delimiter) else {
            let what = "a % that begins no %w[…], %i[…], %q(…) or %Q(…)".to_owned();
            return self.push(PuppetfileTokenKind::Refused(what), at);
        };
        self.cursor.next();
        let open = self.cursor.next().unwrap_or(close);
        let read = match kind {
            'Q' => strings::read_double_quoted(&mut self.cursor, open, close),
            _ => strings::read_single_quoted(&mut self.cursor, open, close),
        };
        match read {
            Err(what) => self.push_error(at, what),
            Ok(pieces) if matches!(kind, 'q' | 'Q') => {
                self.push(PuppetfileTokenKind::Text(pieces), at)
            }
            Ok(pieces) => {
                let words = pieces.iter().flat_map(|piece| match piece {
                    QuotedPiece::Literal(text) => text.split_whitespace(),
                    QuotedPiece::Name(_) => "".split_whitespace(),
                });
                let words = words.map(str::to_owned).collect();
                self.push(PuppetfileTokenKind::Words(words), at);
            }
        }
    }

    /// Reads characters that this parser does not support, as one token.
    fn refuse(&mut self, at: PuppetfilePosition) {
        let mut word: String = self.cursor.next().into_iter().collect();
        word += &self.cursor.take_while(|c| is_word(c) || c == '@');
        self.push(PuppetfileTokenKind::Refused(word), at);
    }
}
