//! A directory that is no part of an environment and is served to nodes: [`MountedDirectory`].
//!
//! Invariant: nothing outside of it is served, wherever links lead.

use std::path::PathBuf;
use std::sync::Arc;

use super::modules::{ModuleDirectory, check_relative};
use crate::file_hashes::FileHashCache;
use crate::{CodeError, CodeFile};

/// Hashes of the files of mounted directories, which are computed once for each state of a file. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct MountedFileHashes(Arc<FileHashCache>);

/// A directory that is served as a mount.
#[derive(Clone, Debug)]
pub struct MountedDirectory {
    pub(super) root: ModuleDirectory,
    pub(super) hashes: Arc<FileHashCache>,
}

impl MountedDirectory {
    /// The directory at a path, which need not exist. `name` is that of the mount.
    pub fn new(name: &str, directory: PathBuf, hashes: &MountedFileHashes) -> Self {
        Self {
            root: ModuleDirectory {
                name: name.to_owned(),
                directory,
            },
            hashes: Arc::clone(&hashes.0),
        }
    }

    /// A file at a path below the directory.
    ///
    /// # Errors
    /// There is no such file, it is outside, or it cannot be read.
    pub fn file(&self, path: &str) -> Result<CodeFile, CodeError> {
        check_relative(path).map_err(|problem| CodeError::InvalidPath { problem })?;
        let found = self.root.open(path)?;
        let (path, mut content) = found.ok_or(CodeError::UnknownMountedFile)?;
        let hashed = self.hashes.hash_file(&path, &mut content)?;
        Ok(CodeFile {
            sha256: hashed.sha256,
            size_bytes: hashed.size_bytes,
            content,
        })
    }
}
