//! Errors of refused patterns ([`RegexError`]) and of aborted searches ([`SearchError`]).

use crate::defaults::{MAX_BACKTRACKS, MAX_CHOICE_POINTS, MAX_REPLACED_BYTES, MAX_SEARCH_TIME};

/// A pattern cannot be compiled. The message is that of Ruby's `RegexpError`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: /{}/", shorten_pattern(source_text))]
pub struct RegexError {
    /// Description of the error in Ruby's words.
    pub what: String,
    /// The source of the refused pattern.
    pub source_text: String,
}

/// A search exceeded its limits, or cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    #[error(
        "the pattern /{pattern}/ tries more than {MAX_BACKTRACKS} ways to match this text; \
         let what it repeats match in one way only"
    )]
    Backtracks { pattern: String },
    #[error(
        "the pattern /{pattern}/ keeps more than {MAX_CHOICE_POINTS} ways to match this text open; \
         the text is too long for it"
    )]
    ChoicePoints { pattern: String },
    #[error(
        "the pattern /{pattern}/ takes more than {} s for this text; the text is too long for it",
        MAX_SEARCH_TIME.as_secs()
    )]
    Time { pattern: String },
    #[error("the pattern /{pattern}/ cannot be searched for: {what}")]
    Engine { pattern: String, what: String },
    #[error("undefined group name reference: {name} (in a replacement for /{pattern}/)")]
    NoSuchGroup { pattern: String, name: String },
    #[error(
        "replacing what /{pattern}/ matches makes a text of more than {MAX_REPLACED_BYTES} bytes"
    )]
    TooLong { pattern: String },
}

/// Longest part of a pattern, in characters, that a message shows.
const SHOWN_CHARS: usize = 200;

pub(crate) fn shorten_pattern(pattern: &str) -> String {
    match pattern.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &pattern[..end]),
        None => pattern.to_owned(),
    }
}

impl SearchError {
    pub(crate) fn from_engine(error: &ferroni::RegexError, pattern: &str) -> Self {
        let pattern = shorten_pattern(pattern);
        match error {
            ferroni::RegexError::RetryLimitInMatchOver
            | ferroni::RegexError::RetryLimitInSearchOver
            | ferroni::RegexError::SubexpCallLimitOver => Self::Backtracks { pattern },
            ferroni::RegexError::MatchStackLimitOver => Self::ChoicePoints { pattern },
            ferroni::RegexError::TimeLimitOver => Self::Time { pattern },
            other => Self::Engine {
                pattern,
                what: other.to_string(),
            },
        }
    }
}

/// The engine's text is Oniguruma's, which Ruby uses too.
pub(crate) fn ruby_message(error: &ferroni::RegexError) -> String {
    match error {
        ferroni::RegexError::Syntax { message, .. }
        | ferroni::RegexError::InternalBug { message, .. }
        | ferroni::RegexError::Encoding { message, .. } => message.clone(),
        other => other.to_string(),
    }
}
