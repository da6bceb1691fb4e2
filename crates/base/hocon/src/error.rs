//! Errors of reading HOCON: [`Error`] with its position, [`HoconFileError`] with its file.

use std::io::{self};
use std::path::PathBuf;

/// Syntax error of a document, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct Error {
    /// Line of the error, counted from 1.
    pub line: usize,
    /// Column of the error in characters, counted from 1.
    pub column: usize,
    /// Cause of the error, without its position.
    pub what: String,
}

/// The error for a configuration file that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HoconFileError {
    #[error("cannot read {path}")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path} is larger than {limit} bytes")]
    TooLarge { path: PathBuf, limit: usize },
    #[error("{path} is not UTF-8 at byte {at}")]
    NotUtf8 { path: PathBuf, at: usize },
    #[error("{path}: {error}")]
    Syntax { path: PathBuf, error: Error },
}
