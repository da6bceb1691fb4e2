//! A partly downloaded content: [`PartialContent`].
//!
//! Invariants: the file never has more bytes than the content; and its hash is computed from the
//! disk.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use rustix::fs::OFlags;
use tokio::io::AsyncWriteExt as _;

use code_store::content::{ContentError, ContentHash, content_error};
use code_store::version::hash_file;

/// A file that receives a content.
#[derive(Debug)]
pub(super) struct PartialContent {
    path: PathBuf,
    file: tokio::fs::File,
    /// Size of the complete content.
    whole_bytes: u64,
    /// Bytes that are in the file.
    pub(super) size_bytes: u64,
    /// Bytes that were in the file before the current download.
    pub(super) kept_bytes: u64,
}

// === impl PartialContent ===

impl PartialContent {
    /// Opens the file. One that cannot be a part of the content is replaced by an empty one.
    pub(super) async fn open(path: PathBuf, whole_bytes: u64) -> Result<Self, ContentError> {
        let at = path.clone();
        let opened = tokio::task::spawn_blocking(move || open_file(&at, whole_bytes)).await;
        let opened = opened.unwrap_or_else(|error| Err(io::Error::other(error)));
        let (file, size_bytes) = opened.map_err(content_error("write to", &path))?;
        Ok(Self {
            path,
            file: tokio::fs::File::from_std(file),
            whole_bytes,
            size_bytes,
            kept_bytes: size_bytes,
        })
    }

    pub(super) fn is_complete(&self) -> bool {
        self.size_bytes == self.whole_bytes
    }

    /// Appends a chunk; returns `false` and appends nothing if the content would become too long.
    pub(super) async fn append(&mut self, bytes: &[u8]) -> Result<bool, ContentError> {
        let size_bytes = self.size_bytes + bytes.len() as u64;
        if size_bytes > self.whole_bytes {
            return Ok(false);
        }
        let written = self.file.write_all(bytes).await;
        written.map_err(content_error("write to", &self.path))?;
        self.size_bytes = size_bytes;
        Ok(true)
    }

    /// Writes buffered bytes to the file.
    pub(super) async fn flush(&mut self) -> Result<(), ContentError> {
        let flushed = self.file.flush().await;
        flushed.map_err(content_error("write to", &self.path))
    }

    /// Empties the file.
    pub(super) async fn truncate(&mut self) -> Result<(), ContentError> {
        let emptied = self.file.set_len(0).await;
        emptied.map_err(content_error("write to", &self.path))?;
        (self.size_bytes, self.kept_bytes) = (0, 0);
        Ok(())
    }

    /// Hash of the bytes in the file.
    pub(super) async fn hash(&self) -> Result<ContentHash, ContentError> {
        let at = self.path.clone();
        let hashed = tokio::task::spawn_blocking(move || hash_file(&at)).await;
        let hashed = hashed.unwrap_or_else(|error| Err(io::Error::other(error)));
        let (hash, _) = hashed.map_err(content_error("read", &self.path))?;
        Ok(hash)
    }
}

fn open_file(path: &std::path::Path, whole_bytes: u64) -> io::Result<(File, u64)> {
    let mut options = File::options();
    // A symbolic link could lead to any file.
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    options.append(true).create(true).custom_flags(flags);
    if let Ok(file) = options.open(path) {
        let metadata = file.metadata()?;
        // A file with another name is a content of the store and is never written to.
        let is_own = metadata.is_file() && metadata.nlink() == 1;
        if is_own && metadata.len() <= whole_bytes {
            return Ok((file, metadata.len()));
        }
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    Ok((options.create_new(true).open(path)?, 0))
}
