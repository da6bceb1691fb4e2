//! Stores a tree in the content store. Main type: [`TreeIntake`].
//!
//! Invariant: until [`TreeIntake::finish`] nothing has a name in the store; a dropped intake leaves
//! nothing behind.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use super::{
    ContentError, ContentHash, ContentStore, ManifestError, TreeEntry, TreeId, TreeManifest,
    TreePath, content_error, sync,
};
use crate::defaults::FILE_BYTES;

/// A tree that is being stored.
#[derive(Debug)]
pub struct TreeIntake {
    content: ContentStore,
    staged: tempfile::TempDir,
    manifest: TreeManifest,
    /// Staged files and their final names.
    fresh: Vec<(PathBuf, PathBuf)>,
}

/// Reason that a tree cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// An entry of the tree is not accepted.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A file is too large.
    #[error("{0} has more than {FILE_BYTES} bytes")]
    TooLarge(TreePath),
    /// The content store cannot be used.
    #[error(transparent)]
    Content(#[from] ContentError),
}

// === impl TreeIntake ===

impl TreeIntake {
    pub(super) fn new(content: ContentStore) -> Result<Self, ContentError> {
        let incoming = content.incoming_directory();
        let staged = tempfile::Builder::new()
            .prefix("tree-")
            .tempdir_in(&incoming)
            .map_err(content_error("write to", &incoming))?;
        Ok(Self {
            content,
            staged,
            manifest: TreeManifest::default(),
            fresh: Vec::new(),
        })
    }

    /// Adds a file with this content.
    pub fn add_file(
        &mut self,
        path: TreePath,
        bytes: &[u8],
        executable: bool,
    ) -> Result<(), IntakeError> {
        let size_bytes = bytes.len() as u64;
        if size_bytes > FILE_BYTES {
            return Err(IntakeError::TooLarge(path));
        }
        let sha256 = ContentHash::of(bytes);
        let entry = TreeEntry::File {
            sha256,
            size_bytes,
            executable,
        };
        self.manifest.add(path, entry)?;
        let object = self.content.object_path(sha256, executable);
        let Some(name) = object.file_name() else {
            return Ok(());
        };
        let staged = self.staged.path().join(name);
        if self.content.has_intact(sha256, executable, size_bytes) || staged.exists() {
            return Ok(());
        }
        let mode = ContentStore::file_mode(executable);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&staged)
            .map_err(content_error("write to", &staged))?;
        file.write_all(bytes)
            .map_err(content_error("write to", &staged))?;
        self.fresh.push((staged, object));
        Ok(())
    }

    /// Adds a symbolic link to `target`.
    pub fn add_link(&mut self, path: TreePath, target: &[u8]) -> Result<(), IntakeError> {
        let entry = TreeEntry::Link {
            target: target.into(),
        };
        Ok(self.manifest.add(path, entry)?)
    }

    /// Gives all files their names. Afterwards the tree is durable.
    pub fn finish(self) -> Result<(TreeId, TreeManifest), IntakeError> {
        self.manifest.check_paths()?;
        if !self.fresh.is_empty() {
            sync(self.staged.path())?;
        }
        for (staged, object) in &self.fresh {
            match fs::hard_link(staged, object) {
                Ok(()) => {}
                // Another tree added the same content meanwhile.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(content_error("write to", object)(source).into()),
            }
        }
        let id = self.content.store_tree(&self.manifest)?;
        Ok((id, self.manifest))
    }
}
