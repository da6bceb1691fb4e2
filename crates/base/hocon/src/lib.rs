//! A reader for HOCON, the format of `auth.conf`, `pxp-agent.conf` and the other
//! `*.conf` files of Puppet: [`parse`], [`read_file`].
//!
//! The result is a JSON value whose objects keep their order. Supported: comments,
//! optional commas, `=`, `:` and `{` after keys, dotted keys, merging of repeated
//! keys, unquoted strings, triple quotes, concatenation, `+=`, and `${…}` within
//! the file. Durations and sizes stay text (`"10 s"`), since only the reader of a
//! setting knows its unit. Every JSON document whose root is an object or array
//! is read as the same value.
//!
//! Not supported on purpose: `include` (an error names it), and environment variables as a source
//! of `${…}`.
//!
//! Invariants: reading does no I/O beyond the one file; every input results in a value or an
//! [`Error`] with line and column, within the limits of [`defaults`].

mod cursor;
pub mod defaults;
mod node;
mod parser;
mod quoted;
mod resolve;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub use serde_json::Value;

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

/// Parses the text of a document.
pub fn parse(text: &str) -> Result<Value, Error> {
    if text.len() > defaults::MAX_BYTES {
        let what = format!("the document is larger than {} bytes", defaults::MAX_BYTES);
        return Err(Error {
            line: 1,
            column: 1,
            what,
        });
    }
    resolve::resolve(&parser::parse(text)?)
}

/// Reads and parses a file; errors name its path.
pub fn read_file(path: &Path) -> Result<Value, HoconFileError> {
    let failed = |source| HoconFileError::Read {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let limit = defaults::MAX_BYTES;
    let file = File::open(path).map_err(failed)?;
    file.take(limit as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() > limit {
        return Err(HoconFileError::TooLarge {
            path: path.to_owned(),
            limit,
        });
    }
    let text = std::str::from_utf8(&bytes).map_err(|error| HoconFileError::NotUtf8 {
        path: path.to_owned(),
        at: error.valid_up_to(),
    })?;
    parse(text).map_err(|error| HoconFileError::Syntax {
        path: path.to_owned(),
        error,
    })
}
