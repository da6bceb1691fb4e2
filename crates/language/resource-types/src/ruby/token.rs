//! Tokens of Ruby: [`RubyToken`].
//!
//! Invariant: a token is a range of the source; its kind has the decoded text where a reader needs
//! it.

use std::ops::Range;

/// A token with its place.
#[derive(Debug, Clone)]
pub(super) struct RubyToken {
    pub(super) kind: RubyTokenKind,
    pub(super) range: Range<usize>,
    /// Line, counted from 1.
    pub(super) line: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum RubyTokenKind {
    /// A name that begins with a small letter, with its `?` or `!`.
    Identifier,
    Keyword(Keyword),
    /// A name that begins with a capital letter.
    Constant,
    /// `@a`, `@@a` or `$a`.
    Variable,
    /// `:a` or `:"a"`; `None` if it is not a plain text.
    Symbol(Option<String>),
    /// The key `a:` or `"a":` of a hash; `None` if it is not a plain text.
    Label(Option<String>),
    /// A string or heredoc; `None` if it is not a plain text.
    Text(Option<String>),
    /// `%w[a b]`, or `%i[a b]`; `None` if the words are not plain texts.
    Words(Option<Vec<String>>),
    /// `/a/m`.
    Regex(RegexLiteral),
    Number,
    /// Punctuation, with the brackets.
    Operator,
    /// The end of a line that ends a statement, or `;`.
    Newline,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct RegexLiteral {
    /// `None` if the pattern is interpolated.
    pub(super) source: Option<String>,
    /// The letters after the pattern.
    pub(super) flags: String,
}

/// Reserved words that matter to the structure of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    Begin,
    Case,
    Class,
    Def,
    Do,
    End,
    For,
    If,
    Module,
    Unless,
    Until,
    While,
    Return,
    Break,
    Next,
    True,
    False,
    Nil,
    SelfObject,
    /// A word after which an expression begins: `and`, `when`, `then`, …
    Joint,
    /// A word that is an expression: `super`, `__FILE__`, …
    Value,
}

impl Keyword {
    pub(super) fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "begin" => Self::Begin,
            "case" => Self::Case,
            "class" => Self::Class,
            "def" => Self::Def,
            "do" => Self::Do,
            "end" => Self::End,
            "for" => Self::For,
            "if" => Self::If,
            "module" => Self::Module,
            "unless" => Self::Unless,
            "until" => Self::Until,
            "while" => Self::While,
            "return" => Self::Return,
            "break" => Self::Break,
            "next" => Self::Next,
            "true" => Self::True,
            "false" => Self::False,
            "nil" => Self::Nil,
            "self" => Self::SelfObject,
            "and" | "or" | "not" | "in" | "when" | "then" | "else" | "elsif" | "rescue"
            | "ensure" | "defined?" | "alias" | "undef" => Self::Joint,
            "super" | "yield" | "redo" | "retry" | "__FILE__" | "__LINE__" | "__method__"
            | "__dir__" | "__ENCODING__" => Self::Value,
            _ => return None,
        })
    }

    /// True if an expression may follow directly, so that `/` begins a pattern.
    pub(super) fn is_before_expression(self) -> bool {
        !matches!(
            self,
            Self::End | Self::True | Self::False | Self::Nil | Self::SelfObject | Self::Value
        )
    }
}
