//! A content of which a part is here: [`PartialContent`].
//!
//! The rules that must hold: it never has more bytes than the content; and what it says of its hash was read
//! from the disk.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use rustix::fs::OFlags;
use tokio::io::AsyncWriteExt as _;

use code_store::content::{ContentError, ContentHash, content_error};
use code_store::version::hash_file;

/// A file that is filled up.
#[derive(Debug)]
pub(super) struct PartialContent {
    path: PathBuf,
    file: tokio::fs::File,
    /// What it will have.
    whole_bytes: u64,
    /// What it has.
    pub(super) size_bytes: u64,
    /// What of that was here before more was asked for.
    pub(super) kept_bytes: u64,
}

// === impl Part ===

impl PartialContent {
    /// Opens what is there. What can be no part of the content is removed.
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

    /// Adds what came; `false`: it is more than there is to come, and nothing is added.
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

    /// All that was added is in the file after it.
    pub(super) async fn flush(&mut self) -> Result<(), ContentError> {
        let flushed = self.file.flush().await;
        flushed.map_err(content_error("write to", &self.path))
    }

    /// Begins anew.
    pub(super) async fn truncate(&mut self) -> Result<(), ContentError> {
        let emptied = self.file.set_len(0).await;
        emptied.map_err(content_error("write to", &self.path))?;
        (self.size_bytes, self.kept_bytes) = (0, 0);
        Ok(())
    }

    /// What is in the file.
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
    // Behind a link could be anything.
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    options.append(true).create(true).custom_flags(flags);
    if let Ok(file) = options.open(path) {
        let metadata = file.metadata()?;
        // What has another name is a content of the store, and never written to.
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
