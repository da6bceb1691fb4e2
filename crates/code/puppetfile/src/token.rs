//! The words of a Puppetfile: [`Token`].

use crate::Position;

/// A word and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) at: Position,
}

/// What kinds of words there are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// `mod`, `true`, a name of a constant value.
    Word(String),
    /// `'a'`, `"a#{b}"`.
    Text(Vec<Piece>),
    /// `%w[a b]`.
    Words(Vec<String>),
    /// `:a`, `:'a'`.
    Symbol(String),
    /// `a:`, `'a':`.
    Label(String),
    /// `12`, `1.5`.
    Number(String),
    /// `=>`.
    Arrow,
    /// One of `, ( ) [ ] { } = + .`.
    Mark(char),
    /// The end of a line, or `;`.
    End,
    /// Ruby that is not read: what it is, for people.
    Refused(String),
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    Literal(String),
    /// `#{name}`.
    Name(String),
}
