//! What can go wrong: [`AuditError`], [`HeadFileError`].

use std::path::PathBuf;

use store::StoreError;

/// Why an entry could not be written, or the chain not be read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AuditError {
    /// The store.
    #[error("cannot write the audit entry, so nothing was done")]
    Write(#[source] StoreError),
    /// The store.
    #[error("cannot read the audit chain")]
    Read(#[source] StoreError),
}

/// Why the file with the head of the chain cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HeadFileError {
    /// The file.
    #[error("cannot read {path}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Its content.
    #[error(
        "{path} does not hold the head of an audit chain: {what}; it was changed by other hands, \
         or its disk is broken"
    )]
    Content {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The file.
    #[error(transparent)]
    Write(#[from] pki::durable::WriteError),
}
