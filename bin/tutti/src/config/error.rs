//! Errors of reading `tutti.toml`: [`ConfigError`].

use std::path::PathBuf;

use decode_errors::DecodeError;

/// Reason for which a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error(
        "cannot read the configuration {path}: {source}; write one (see docs/server.md) or give --config"
    )]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the configuration {path} is not valid: {source}")]
    Parse { path: PathBuf, source: DecodeError },
    #[error("the configuration {path} is not valid: {what}")]
    Value { path: PathBuf, what: String },
}
