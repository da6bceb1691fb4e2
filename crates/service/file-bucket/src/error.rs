//! Errors of the bucket: [`FileBucketError`].

use std::io;
use std::path::PathBuf;

use crate::defaults::{DIFF_BYTES, FILE_BYTES};

/// Reason that a file cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum FileBucketError {
    #[error("the file has more than {} MiB", FILE_BYTES >> 20)]
    TooLarge,
    #[error(
        "files of more than {} MiB are not compared on the server; get them and compare them on the node",
        DIFF_BYTES >> 20
    )]
    TooLargeToCompare,
    #[error("the file has not the checksum {key}; it was changed while it was sent")]
    Mismatch {
        /// The key of the request.
        key: String,
    },
    #[error(
        "the bucket is full, and old files are being removed; if this continues, raise bucket.max_mib or lower \
         bucket.keep_days of the server"
    )]
    Full,
    #[error("the file broke off")]
    Source(#[source] io::Error),
    #[error("cannot use {}", path.display())]
    Io {
        /// File or directory of the bucket.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl FileBucketError {
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
