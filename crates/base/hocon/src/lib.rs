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
mod error;
mod node;
mod parser;
mod quoted;
mod resolve;

pub use error::{Error, HoconFileError};
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use serde_json::Value;

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
