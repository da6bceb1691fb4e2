//! Values in a Puppetfile: [`PuppetfileValue`].
//!
//! Invariant: a secret is only compared or shown by a caller that explicitly requests it.

/// A value, after interpolation of names.
#[derive(Debug, Clone, PartialEq)]
pub enum PuppetfileValue {
    /// A quoted text.
    Text(String),
    /// A symbol such as `:latest`, without its colon.
    Symbol(String),
    /// A number as it is written.
    Number(String),
    /// The constant `true` or `false`.
    Bool(bool),
    /// The constant `nil`.
    Nil,
    /// A list of values.
    List(Vec<PuppetfileValue>),
    /// Pairs of key and value. Keys are symbols or texts, stored as texts.
    Hash(Vec<(String, PuppetfileValue)>),
}

impl PuppetfileValue {
    /// The kind of the value, for messages.
    pub(crate) fn kind_name(&self) -> &'static str {
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
