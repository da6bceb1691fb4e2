//! The tokens of the language: [`SyntaxToken`], [`TokenKind`].
//!
//! Invariant: a token has its position in the file, even inside a heredoc whose margin is removed,
//! and the text that the parser needs is interned, so the parser never reads the source.

use crate::SourceSpan;
use crate::ast::Sym;

/// One token: 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SyntaxToken {
    pub(crate) kind: TokenKind,
    pub(crate) span: SourceSpan,
    /// The name, number or string from which the parser builds the node.
    pub(crate) value: Option<Sym>,
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// The end of the input.
    End,
    /// A fault that the lexer has reported.
    Error,
    /// A character that begins no token.
    Other,
    Name,
    Word,
    ClassRef,
    Number,
    /// Text without interpolation, in either kind of quotes; also the text of a heredoc.
    String,
    /// `"text${`
    DqPre,
    /// `}text${`
    DqMid,
    /// `}text"`
    DqPost,
    Variable,
    Regex,
    /// `@(…)`; its text is the next token, or the next few.
    Heredoc,
    EppStart,
    RenderString,
    RenderExpr,
    EppEnd,
    EppEndTrim,
    // keywords
    And,
    Apply,
    Attr,
    Case,
    Class,
    Default,
    Define,
    Else,
    Elsif,
    False,
    Function,
    If,
    In,
    Inherits,
    Node,
    Or,
    Plan,
    Private,
    True,
    Type,
    Undef,
    Unless,
    // brackets
    /// `[` after a value: an index.
    LBracket,
    /// `[` after a blank: a list.
    ListStart,
    RBracket,
    LBrace,
    /// `{` after `?`
    SelBrace,
    RBrace,
    LParen,
    /// `(` first on its line, which never begins the arguments of a call.
    WsLParen,
    RParen,
    // operators and punctuation
    Equals,
    Appends,
    Deletes,
    IsEqual,
    NotEqual,
    Match,
    NoMatch,
    GreaterEqual,
    Greater,
    LessEqual,
    Less,
    /// `=>`
    Farrow,
    /// `+>`
    Parrow,
    LShift,
    /// `<<|`
    LlCollect,
    /// `<|`
    LCollect,
    RShift,
    /// `|>>`
    RrCollect,
    /// `|>`
    RCollect,
    Plus,
    Minus,
    Div,
    Times,
    Modulo,
    Not,
    Dot,
    Pipe,
    At,
    AtAt,
    Colon,
    Comma,
    Semicolon,
    Question,
    Tilde,
    InEdge,
    InEdgeSub,
    OutEdge,
    OutEdgeSub,
}

/// The words that are keywords in every mode.
pub(crate) const KEYWORDS: &[(&str, TokenKind)] = &[
    ("and", TokenKind::And),
    ("attr", TokenKind::Attr),
    ("case", TokenKind::Case),
    ("class", TokenKind::Class),
    ("default", TokenKind::Default),
    ("define", TokenKind::Define),
    ("else", TokenKind::Else),
    ("elsif", TokenKind::Elsif),
    ("false", TokenKind::False),
    ("function", TokenKind::Function),
    ("if", TokenKind::If),
    ("in", TokenKind::In),
    ("inherits", TokenKind::Inherits),
    ("node", TokenKind::Node),
    ("or", TokenKind::Or),
    ("private", TokenKind::Private),
    ("true", TokenKind::True),
    ("type", TokenKind::Type),
    ("undef", TokenKind::Undef),
    ("unless", TokenKind::Unless),
];

/// The words that are keywords where plans are allowed.
pub(crate) const TASK_KEYWORDS: &[(&str, TokenKind)] =
    &[("apply", TokenKind::Apply), ("plan", TokenKind::Plan)];

// === impl TokenKind ===

impl TokenKind {
    /// The text of a token whose text is fixed; `None` for others.
    #[must_use]
    pub fn fixed_text(self) -> Option<&'static str> {
        let keyword = KEYWORDS.iter().chain(TASK_KEYWORDS);
        if let Some((text, _)) = keyword.clone().find(|(_, kind)| *kind == self) {
            return Some(text);
        }
        Some(match self {
            Self::EppEnd => "%>",
            Self::EppEndTrim => "-%>",
            Self::LBracket | Self::ListStart => "[",
            Self::RBracket => "]",
            Self::LBrace | Self::SelBrace => "{",
            Self::RBrace => "}",
            Self::LParen | Self::WsLParen => "(",
            Self::RParen => ")",
            Self::Equals => "=",
            Self::Appends => "+=",
            Self::Deletes => "-=",
            Self::IsEqual => "==",
            Self::NotEqual => "!=",
            Self::Match => "=~",
            Self::NoMatch => "!~",
            Self::GreaterEqual => ">=",
            Self::Greater => ">",
            Self::LessEqual => "<=",
            Self::Less => "<",
            Self::Farrow => "=>",
            Self::Parrow => "+>",
            Self::LShift => "<<",
            Self::LlCollect => "<<|",
            Self::LCollect => "<|",
            Self::RShift => ">>",
            Self::RrCollect => "|>>",
            Self::RCollect => "|>",
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Div => "/",
            Self::Times => "*",
            Self::Modulo => "%",
            Self::Not => "!",
            Self::Dot => ".",
            Self::Pipe => "|",
            Self::At => "@",
            Self::AtAt => "@@",
            Self::Colon => ":",
            Self::Comma => ",",
            Self::Semicolon => ";",
            Self::Question => "?",
            Self::Tilde => "~",
            Self::InEdge => "->",
            Self::InEdgeSub => "~>",
            Self::OutEdge => "<-",
            Self::OutEdgeSub => "<~",
            _ => return None,
        })
    }

    /// True if `/` after this token is a division; otherwise it begins a regular expression.
    pub(crate) fn ends_operand(self) -> bool {
        matches!(
            self,
            Self::RParen
                | Self::RBracket
                | Self::RrCollect
                | Self::RCollect
                | Self::Name
                | Self::ClassRef
                | Self::Number
                | Self::String
                | Self::True
                | Self::False
                | Self::DqPre
                | Self::DqMid
                | Self::DqPost
                | Self::Heredoc
                | Self::Regex
                | Self::Variable
                | Self::Word
        )
    }

    /// True for a keyword of every mode, not only of tasks.
    pub(crate) fn is_plain_keyword(self) -> bool {
        KEYWORDS.iter().any(|(_, kind)| *kind == self)
    }

    /// Every keyword may be the name of an attribute, except the two booleans.
    pub(crate) fn is_attribute_name(self) -> bool {
        self == Self::Name
            || (!matches!(self, Self::True | Self::False)
                && KEYWORDS
                    .iter()
                    .chain(TASK_KEYWORDS)
                    .any(|(_, kind)| *kind == self))
    }
}
