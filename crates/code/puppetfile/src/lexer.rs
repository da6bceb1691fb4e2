//! The lexer: splits a text into tokens. Main function: [`tokens`].
//!
//! Invariant: the end of a line ends a statement, except if the line clearly continues: after a
//! comma, an operator or a backslash, and in brackets.

use crate::mistake::{Mistake, Mistakes, Position};
use crate::strings;
use crate::token::{Kind, Piece, Token};

/// The position of the lexer in the text.
pub(crate) struct Cursor<'t> {
    rest: std::str::Chars<'t>,
    pub(crate) at: Position,
}

struct Lexer<'t> {
    cursor: Cursor<'t>,
    tokens: Vec<Token>,
    mistakes: Mistakes,
    /// Number of open brackets.
    depth: usize,
}

/// The tokens of a text, and the errors in them. The last token is an [`Kind::End`].
pub(crate) fn tokens(text: &str) -> (Vec<Token>, Mistakes) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lexer = Lexer {
        cursor: Cursor {
            rest: text.chars(),
            at: Position::START,
        },
        tokens: Vec::new(),
        mistakes: Mistakes::default(),
        depth: 0,
    };
    while lexer.word() {}
    let at = lexer.cursor.at;
    lexer.tokens.push(Token {
        kind: Kind::End,
        at,
    });
    (lexer.tokens, lexer.mistakes)
}

// === impl Cursor ===

impl Cursor<'_> {
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

// === impl Lexer ===

impl Lexer<'_> {
    /// Reads one token; `false` at the end of the text.
    fn word(&mut self) -> bool {
        let at = self.cursor.at;
        let Some(c) = self.cursor.peek() else {
            return false;
        };
        if at.column == 1 && c == '=' && self.cursor.starts_with("=begin") {
            self.block_comment(at);
            return true;
        }
        if at.column == 1 && self.cursor.starts_with("__END__") {
            return false;
        }
        match c {
            '\n' => {
                self.cursor.next();
                self.end_of_line(at);
            }
            ';' => {
                self.cursor.next();
                self.push(Kind::End, at);
            }
            '#' => self.cursor.skip_line(),
            c if c.is_whitespace() => drop(self.cursor.next()),
            '\\' => self.backslash(at),
            '\'' | '"' => self.text(c, at),
            ':' => self.symbol(at),
            '%' => self.percent(at),
            '=' => {
                self.cursor.next();
                let kind = match self.cursor.take_if('>') {
                    true => Kind::Arrow,
                    false => Kind::Mark('='),
                };
                self.push(kind, at);
            }
            ',' | '+' | '.' | '(' | ')' | '[' | ']' | '{' | '}' => {
                self.cursor.next();
                self.mark(c, at);
            }
            c if c.is_ascii_digit() => {
                let digits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
                let number = self.cursor.take_while(digits);
                self.push(Kind::Number(number), at);
            }
            c if is_word(c) => self.name(at),
            _ => self.refused(at),
        }
        true
    }

    fn push(&mut self, kind: Kind, at: Position) {
        self.tokens.push(Token { kind, at });
    }

    fn wrong(&mut self, at: Position, what: impl Into<String>) {
        self.mistakes.push(Mistake::new(at, what));
    }

    fn mark(&mut self, mark: char, at: Position) {
        match mark {
            '(' | '[' | '{' => self.depth += 1,
            ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.push(Kind::Mark(mark), at);
    }

    fn end_of_line(&mut self, at: Position) {
        let goes_on = match self.tokens.last().map(|last| &last.kind) {
            Some(Kind::Mark(',' | '+' | '.' | '=') | Kind::Arrow | Kind::Label(_)) => true,
            Some(Kind::End) | None => true,
            Some(_) => self.depth > 0,
        };
        if !goes_on {
            self.push(Kind::End, at);
        }
    }

    fn backslash(&mut self, at: Position) {
        self.cursor.next();
        self.cursor.take_if('\r');
        if !self.cursor.take_if('\n') {
            self.wrong(at, "a backslash outside of a text only ends a line");
        }
    }

    fn block_comment(&mut self, at: Position) {
        loop {
            self.cursor.skip_line();
            if self.cursor.next().is_none() {
                self.wrong(at, "this comment has no =end");
                return;
            }
            if self.cursor.starts_with("=end") {
                self.cursor.skip_line();
                return;
            }
        }
    }

    fn text(&mut self, quote: char, at: Position) {
        self.cursor.next();
        let pieces = self.quoted(quote, at);
        let is_label = self.cursor.peek() == Some(':') && !self.cursor.starts_with("::");
        match pieces.as_slice() {
            [Piece::Literal(text)] if is_label => {
                let label = Kind::Label(text.clone());
                self.cursor.next();
                self.push(label, at);
            }
            _ => self.push(Kind::Text(pieces), at),
        }
    }

    /// Reads a text up to the closing quote; the opening quote was read before.
    fn quoted(&mut self, quote: char, at: Position) -> Vec<Piece> {
        let read = match quote {
            '"' => strings::double(&mut self.cursor, '"', '"'),
            _ => strings::single(&mut self.cursor, '\'', '\''),
        };
        read.unwrap_or_else(|what| {
            self.wrong(at, what);
            // A placeholder that causes no further error.
            vec![Piece::Literal("x".to_owned())]
        })
    }

    fn symbol(&mut self, at: Position) {
        self.cursor.next();
        match self.cursor.peek() {
            Some(quote @ ('\'' | '"')) => {
                self.cursor.next();
                let pieces = self.quoted(quote, at);
                match pieces.as_slice() {
                    [Piece::Literal(name)] => {
                        let symbol = Kind::Symbol(name.clone());
                        self.push(symbol, at);
                    }
                    _ => self.wrong(at, "a symbol is a plain name here"),
                }
            }
            Some(c) if is_word(c) => {
                let name = self.cursor.take_while(is_word);
                self.push(Kind::Symbol(name), at);
            }
            _ => self.push(Kind::Refused("a lone :".to_owned()), at),
        }
    }

    fn name(&mut self, at: Position) {
        let mut name = self.cursor.take_while(is_word);
        if let Some(mark @ ('?' | '!')) = self.cursor.peek() {
            self.cursor.next();
            name.push(mark);
        }
        let is_label = self.cursor.peek() == Some(':') && !self.cursor.starts_with("::");
        if is_label {
            self.cursor.next();
            self.push(Kind::Label(name), at);
        } else {
            self.push(Kind::Word(name), at);
        }
    }

    fn percent(&mut self, at: Position) {
        self.cursor.next();
        let kind = self.cursor.peek().unwrap_or(' ');
        let mut ahead = self.cursor.rest.clone().skip(1);
        let open = match kind {
            'w' | 'i' | 'q' | 'Q' => ahead.next(),
            _ => None,
        };
        let Some(close) = open.and_then(strings::closing) else {
            let what = "a % that begins no %w[…], %i[…], %q(…) or %Q(…)".to_owned();
            return self.push(Kind::Refused(what), at);
        };
        self.cursor.next();
        let open = self.cursor.next().unwrap_or(close);
        let read = match kind {
            'Q' => strings::double(&mut self.cursor, open, close),
            _ => strings::single(&mut self.cursor, open, close),
        };
        match read {
            Err(what) => self.wrong(at, what),
            Ok(pieces) if matches!(kind, 'q' | 'Q') => self.push(Kind::Text(pieces), at),
            Ok(pieces) => {
                let words = pieces.iter().flat_map(|piece| match piece {
                    Piece::Literal(text) => text.split_whitespace(),
                    Piece::Name(_) => "".split_whitespace(),
                });
                let words = words.map(str::to_owned).collect();
                self.push(Kind::Words(words), at);
            }
        }
    }

    /// Reads characters that this parser does not support, as one token.
    fn refused(&mut self, at: Position) {
        let mut word: String = self.cursor.next().into_iter().collect();
        word += &self.cursor.take_while(|c| is_word(c) || c == '@');
        self.push(Kind::Refused(word), at);
    }
}
