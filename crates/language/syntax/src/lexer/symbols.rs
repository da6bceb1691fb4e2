//! Brackets, operators and punctuation.

use super::{LexerStep, SourceLexer, is_blank};
use crate::token::TokenKind;

impl SourceLexer<'_, '_> {
    pub(super) fn symbol(&mut self, byte: u8) -> LexerStep {
        let (kind, len) = match byte {
            b'[' => (self.bracket(), 1),
            b'(' => (self.parenthesis(), 1),
            b'{' => (self.brace(), 1),
            b'}' => {
                self.braces -= 1;
                (TokenKind::RBrace, 1)
            }
            b']' => (TokenKind::RBracket, 1),
            b')' => (TokenKind::RParen, 1),
            b',' => (TokenKind::Comma, 1),
            b';' => (TokenKind::Semicolon, 1),
            b'.' => (TokenKind::Dot, 1),
            b'?' => (TokenKind::Question, 1),
            b':' => (TokenKind::Colon, 1),
            b'*' => (TokenKind::Times, 1),
            b'%' => (TokenKind::Modulo, 1),
            b'@' if self.peek(1) == b'@' => (TokenKind::AtAt, 2),
            b'@' => (TokenKind::At, 1),
            _ => self.operator(byte),
        };
        let start = self.pos;
        self.pos += len;
        self.token(kind, start, None)
    }

    fn operator(&self, byte: u8) -> (TokenKind, usize) {
        match (byte, self.peek(1), self.peek(2)) {
            (b'|', b'>', b'>') => (TokenKind::RrCollect, 3),
            (b'|', b'>', _) => (TokenKind::RCollect, 2),
            (b'|', ..) => (TokenKind::Pipe, 1),
            (b'=', b'=', _) => (TokenKind::IsEqual, 2),
            (b'=', b'>', _) => (TokenKind::Farrow, 2),
            (b'=', b'~', _) => (TokenKind::Match, 2),
            (b'=', ..) => (TokenKind::Equals, 1),
            (b'+', b'=', _) => (TokenKind::Appends, 2),
            (b'+', b'>', _) => (TokenKind::Parrow, 2),
            (b'+', ..) => (TokenKind::Plus, 1),
            (b'-', b'>', _) => (TokenKind::InEdge, 2),
            (b'-', b'=', _) => (TokenKind::Deletes, 2),
            (b'-', ..) => (TokenKind::Minus, 1),
            (b'!', b'=', _) => (TokenKind::NotEqual, 2),
            (b'!', b'~', _) => (TokenKind::NoMatch, 2),
            (b'!', ..) => (TokenKind::Not, 1),
            (b'~', b'>', _) => (TokenKind::InEdgeSub, 2),
            (b'~', ..) => (TokenKind::Tilde, 1),
            (b'<', b'<', b'|') => (TokenKind::LlCollect, 3),
            (b'<', b'<', _) => (TokenKind::LShift, 2),
            (b'<', b'=', _) => (TokenKind::LessEqual, 2),
            (b'<', b'|', _) => (TokenKind::LCollect, 2),
            (b'<', b'-', _) => (TokenKind::OutEdge, 2),
            (b'<', b'~', _) => (TokenKind::OutEdgeSub, 2),
            (b'<', ..) => (TokenKind::Less, 1),
            (b'>', b'>', _) => (TokenKind::RShift, 2),
            (b'>', b'=', _) => (TokenKind::GreaterEqual, 2),
            (b'>', ..) => (TokenKind::Greater, 1),
            _ => (TokenKind::Other, 1),
        }
    }

    /// A list after a blank, an index after any other character.
    fn bracket(&self) -> TokenKind {
        let before = self.text[..self.pos].chars().next_back();
        match before {
            Some(character) if !is_blank(character) && !matches!(character, '\r' | '\n') => {
                TokenKind::LBracket
            }
            _ => TokenKind::ListStart,
        }
    }

    /// A parenthesis that is first on its line begins a statement, never the arguments of a call.
    fn parenthesis(&self) -> TokenKind {
        let before = self.text.get(self.line_start..self.pos).unwrap_or("");
        if before
            .chars()
            .all(|character| is_blank(character) || character == '\r')
        {
            TokenKind::WsLParen
        } else {
            TokenKind::LParen
        }
    }

    fn brace(&mut self) -> TokenKind {
        self.braces += 1;
        if self.after == TokenKind::Question {
            TokenKind::SelBrace
        } else {
            TokenKind::LBrace
        }
    }
}
