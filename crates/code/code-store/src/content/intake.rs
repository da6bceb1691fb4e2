//! Stores a tree in the content store. Main type: [`Intake`].
//!
//! Invariant: until [`Intake::finish`] nothing has a name in the store; a dropped intake leaves nothing behind.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use super::{
    Content, ContentError, ContentHash, Entry, Manifest, ManifestError, TreeId, TreePath, failed,
    sync,
};
use crate::defaults::FILE_BYTES;

/// A tree that is being stored.
#[derive(Debug)]
pub struct Intake {
    content: Content,
    staged: tempfile::TempDir,
    manifest: Manifest,
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

// === impl Intake ===

impl Intake {
    pub(super) fn new(content: Content) -> Result<Self, ContentError> {
        let incoming = content.incoming();
        let staged = tempfile::Builder::new()
            .prefix("tree-")
            .tempdir_in(&incoming)
            .map_err(failed("write to", &incoming))?;
        Ok(Self {
            content,
            staged,
            manifest: Manifest::default(),
            fresh: Vec::new(),
        })
    }

    /// Adds a file with this content.
    pub fn file(
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
        let entry = Entry::File {
            sha256,
            size_bytes,
            executable,
        };
        self.manifest.add(path, entry)?;
        let object = self.content.object(sha256, executable);
        let Some(name) = object.file_name() else {
            return Ok(());
        };
        let staged = self.staged.path().join(name);
        if self.content.has(sha256, executable, size_bytes) || staged.exists() {
            return Ok(());
        }
        let mode = Content::mode(executable);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&staged)
            .map_err(failed("write to", &staged))?;
        file.write_all(bytes).map_err(failed("write to", &staged))?;
        self.fresh.push((staged, object));
        Ok(())
    }

    /// Adds a symbolic link to `target`.
    pub fn link(&mut self, path: TreePath, target: &[u8]) -> Result<(), IntakeError> {
        let entry = Entry::Link {
            target: target.into(),
        };
        Ok(self.manifest.add(path, entry)?)
    }

    /// Gives all files their names. Afterwards the tree is durable.
    pub fn finish(self) -> Result<(TreeId, Manifest), IntakeError> {
        self.manifest.check()?;
        if !self.fresh.is_empty() {
            sync(self.staged.path())?;
        }
        for (staged, object) in &self.fresh {
            match fs::hard_link(staged, object) {
                Ok(()) => {}
                // Another tree added the same content meanwhile.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(failed("write to", object)(source).into()),
            }
        }
        let id = self.content.keep_tree(&self.manifest)?;
        Ok((id, self.manifest))
    }
}
