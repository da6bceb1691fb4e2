//! The errors of the audit: [`AuditError`], [`HeadFileError`].

use std::path::PathBuf;

use store::StoreError;

/// An entry could not be written, or the chain could not be read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AuditError {
    /// The store failed to write an entry.
    #[error("cannot write the audit entry, so nothing was done")]
    Write(#[source] StoreError),
    /// The store failed to read the chain.
    #[error("cannot read the audit chain")]
    Read(#[source] StoreError),
}

/// The file with the head of the chain cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HeadFileError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The underlying I/O error.
        source: std::io::Error,
    },
    /// The content of the file is not a head.
    #[error(
        "{path} does not hold the head of an audit chain: {what}; it was changed by other hands, \
         or its disk is broken"
    )]
    Content {
        /// Path of the file.
        path: PathBuf,
        /// Description of the defect.
        what: String,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] pki::durable::DurableWriteError),
}
