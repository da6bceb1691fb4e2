//! The error for a document that cannot be read, with its place: [`DecodeError`].

use std::fmt;

use crate::defaults::{MESSAGE_CHARS, QUOTED_CHARS};
use crate::mismatch::DecodeMismatch;

/// Format of a document, which decides how its parts are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFormat {
    /// JSON, with objects and keys.
    Json,
    /// TOML, with tables and keys.
    Toml,
}

/// Reason and place of a document that cannot be read as the type that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    pub(crate) format: DocumentFormat,
    /// Boxed, so that results with this error stay small.
    pub(crate) problem: Box<DecodeProblem>,
    /// Path of the value, as `scope.nodes[3]`; empty for the whole document or where it is not
    /// known.
    pub(crate) path: String,
    /// Line and column from 1, in characters of the document's line; `None` for a value without a
    /// text.
    pub(crate) position: Option<(usize, usize)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DecodeProblem {
    /// The text breaks the grammar of its format.
    Syntax(&'static str),
    /// The text is well-formed; its content is not of the type that is needed.
    Mismatch(DecodeMismatch),
    /// The text could not be read to its end.
    Unreadable,
}

// === impl DocumentFormat ===

impl DocumentFormat {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
        }
    }

    /// A collection of keys and values, with its article.
    pub(crate) fn object_term(self) -> &'static str {
        match self {
            Self::Json => "an object",
            Self::Toml => "a table",
        }
    }
}

// === impl DecodeError ===

impl DecodeError {
    /// True if the text breaks the grammar of its format; false if its content has a wrong type or
    /// could not be read to its end.
    pub fn is_syntax(&self) -> bool {
        matches!(*self.problem, DecodeProblem::Syntax(_))
    }

    /// Path of the value, as `scope.nodes[3]`; empty for the whole document.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Line and column, both from 1; `None` for a value that was not read from a text.
    pub fn position(&self) -> Option<(usize, usize)> {
        self.position
    }

    /// The key that the type does not have, if that is the problem.
    pub fn unknown_key(&self) -> Option<&str> {
        match &*self.problem {
            DecodeProblem::Mismatch(DecodeMismatch::UnknownKey { key, .. }) => Some(key),
            _ => None,
        }
    }

    /// The key that is missing, if that is the problem.
    pub fn missing_key(&self) -> Option<&str> {
        match &*self.problem {
            DecodeProblem::Mismatch(DecodeMismatch::MissingKey(key)) => Some(key),
            _ => None,
        }
    }

    /// The kind of value that is needed and the one that was found, in this order, if that is the
    /// problem.
    pub fn needed_and_found(&self) -> Option<(String, String)> {
        match &*self.problem {
            DecodeProblem::Mismatch(mismatch) => mismatch.needed_and_found(self.format),
            DecodeProblem::Syntax(_) | DecodeProblem::Unreadable => None,
        }
    }

    /// The problem without its place.
    pub fn problem(&self) -> String {
        match &*self.problem {
            DecodeProblem::Syntax(what) => format!("not {}: {what}", self.format.name()),
            DecodeProblem::Mismatch(mismatch) => mismatch.to_text(self.format),
            DecodeProblem::Unreadable => "the text cannot be read to its end".to_owned(),
        }
    }

    /// Path of the value that the problem is about, for logs and terminals: without an unknown key,
    /// which the problem names. Empty for the whole document.
    pub fn subject(&self) -> String {
        let path = match self.unknown_key() {
            Some(key) => match self.path.strip_suffix(key) {
                Some(parent) => parent.strip_suffix('.').unwrap_or(parent),
                None => &self.path,
            },
            None => &self.path,
        };
        to_printable(path)
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.subject();
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        f.write_str(&self.problem())?;
        match self.position {
            Some((line, column)) => write!(f, " (line {line}, column {column})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DecodeError {}

impl From<DecodeError> for std::io::Error {
    fn from(error: DecodeError) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, error)
    }
}

/// A name or path of the document for logs and terminals: clipped, control characters replaced.
pub(crate) fn to_printable(text: &str) -> String {
    escape_and_truncate(text, QUOTED_CHARS)
}

/// Does the same for a whole message, with a limit of [`MESSAGE_CHARS`].
pub(crate) fn to_printable_message(text: &str) -> String {
    escape_and_truncate(text, MESSAGE_CHARS)
}

fn escape_and_truncate(text: &str, chars: usize) -> String {
    let visible = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().take(chars).map(visible).collect()
}
