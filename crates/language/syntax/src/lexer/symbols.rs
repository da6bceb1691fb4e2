//! Brackets, operators and punctuation.

use super::{Lexer, Step, is_blank};
use crate::token::Kind;

impl Lexer<'_, '_> {
    pub(super) fn symbol(&mut self, byte: u8) -> Step {
        let (kind, len) = match byte {
            b'[' => (self.bracket(), 1),
            b'(' => (self.parenthesis(), 1),
            b'{' => (self.brace(), 1),
            b'}' => {
                self.braces -= 1;
                (Kind::RBrace, 1)
            }
            b']' => (Kind::RBracket, 1),
            b')' => (Kind::RParen, 1),
            b',' => (Kind::Comma, 1),
            b';' => (Kind::Semicolon, 1),
            b'.' => (Kind::Dot, 1),
            b'?' => (Kind::Question, 1),
            b':' => (Kind::Colon, 1),
            b'*' => (Kind::Times, 1),
            b'%' => (Kind::Modulo, 1),
            b'@' if self.peek(1) == b'@' => (Kind::AtAt, 2),
            b'@' => (Kind::At, 1),
            _ => self.operator(byte),
        };
        let start = self.pos;
        self.pos += len;
        self.token(kind, start, None)
    }

    fn operator(&self, byte: u8) -> (Kind, usize) {
        match (byte, self.peek(1), self.peek(2)) {
            (b'|', b'>', b'>') => (Kind::RrCollect, 3),
            (b'|', b'>', _) => (Kind::RCollect, 2),
            (b'|', ..) => (Kind::Pipe, 1),
            (b'=', b'=', _) => (Kind::IsEqual, 2),
            (b'=', b'>', _) => (Kind::Farrow, 2),
            (b'=', b'~', _) => (Kind::Match, 2),
            (b'=', ..) => (Kind::Equals, 1),
            (b'+', b'=', _) => (Kind::Appends, 2),
            (b'+', b'>', _) => (Kind::Parrow, 2),
            (b'+', ..) => (Kind::Plus, 1),
            (b'-', b'>', _) => (Kind::InEdge, 2),
            (b'-', b'=', _) => (Kind::Deletes, 2),
            (b'-', ..) => (Kind::Minus, 1),
            (b'!', b'=', _) => (Kind::NotEqual, 2),
            (b'!', b'~', _) => (Kind::NoMatch, 2),
            (b'!', ..) => (Kind::Not, 1),
            (b'~', b'>', _) => (Kind::InEdgeSub, 2),
            (b'~', ..) => (Kind::Tilde, 1),
            (b'<', b'<', b'|') => (Kind::LlCollect, 3),
            (b'<', b'<', _) => (Kind::LShift, 2),
            (b'<', b'=', _) => (Kind::LessEqual, 2),
            (b'<', b'|', _) => (Kind::LCollect, 2),
            (b'<', b'-', _) => (Kind::OutEdge, 2),
            (b'<', b'~', _) => (Kind::OutEdgeSub, 2),
            (b'<', ..) => (Kind::Less, 1),
            (b'>', b'>', _) => (Kind::RShift, 2),
            (b'>', b'=', _) => (Kind::GreaterEqual, 2),
            (b'>', ..) => (Kind::Greater, 1),
            _ => (Kind::Other, 1),
        }
    }

    /// A list after a blank, an index after any other character.
    fn bracket(&self) -> Kind {
        let before = self.text[..self.pos].chars().next_back();
        match before {
            Some(character) if !is_blank(character) && !matches!(character, '\r' | '\n') => {
                Kind::LBracket
            }
            _ => Kind::ListStart,
        }
    }

    /// A parenthesis that is first on its line begins a statement, never the arguments of a call.
    fn parenthesis(&self) -> Kind {
        let before = self.text.get(self.line_start..self.pos).unwrap_or("");
        if before
            .chars()
            .all(|character| is_blank(character) || character == '\r')
        {
            Kind::WsLParen
        } else {
            Kind::LParen
        }
    }

    fn brace(&mut self) -> Kind {
        self.braces += 1;
        if self.after == Kind::Question {
            Kind::SelBrace
        } else {
            Kind::LBrace
        }
    }
}
