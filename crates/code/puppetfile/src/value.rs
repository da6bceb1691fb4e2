//! Values in a Puppetfile: [`Value`].
//!
//! The rule that must hold: what is compared and shown is never a secret but by the one who asks for it.

/// A value, after names were put in.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// `:latest`, without its colon.
    Symbol(String),
    /// As it is written.
    Number(String),
    /// `true` or `false`.
    Bool(bool),
    /// `nil`.
    Nil,
    /// A list.
    List(Vec<Value>),
    /// Keys are symbols or texts; their names.
    Hash(Vec<(String, Value)>),
}

impl Value {
    /// What it is, for people.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Symbol(_) => "a symbol",
            Self::Number(_) => "a number",
            Self::Bool(_) => "true or false",
            Self::Nil => "nil",
            Self::List(_) => "a list",
            Self::Hash(_) => "a hash",
        }
    }
}
