//! The tokens of a Puppetfile: [`PuppetfileToken`].

use crate::PuppetfilePosition;

/// A token with the position at which it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PuppetfileToken {
    pub(crate) kind: PuppetfileTokenKind,
    pub(crate) at: PuppetfilePosition,
}

/// The kinds of tokens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PuppetfileTokenKind {
    /// A keyword or name: `mod`, `true`, a name of a constant value.
    Word(String),
    /// A quoted text: `'a'`, `"a#{b}"`.
    Text(Vec<QuotedPiece>),
    /// A list of words: `%w[a b]`.
    Words(Vec<String>),
    /// A symbol: `:a`, `:'a'`.
    Symbol(String),
    /// A key of a hash: `a:`, `'a':`.
    Label(String),
    /// A number: `12`, `1.5`.
    Number(String),
    /// The arrow `=>`.
    Arrow,
    /// One of `, ( ) [ ] { } = + .`.
    Mark(char),
    /// The end of a statement: end of a line, or `;`.
    End,
    /// Unsupported Ruby, with a description for messages.
    Refused(String),
}

/// A part of a quoted text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum QuotedPiece {
    Literal(String),
    /// An interpolated name: `#{name}`.
    Name(String),
}
