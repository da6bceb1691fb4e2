//! Detection and repair of versions with damaged files: [`VersionStore::damaged_paths`],
//! [`VersionStore::replace_damaged`].
//!
//! Invariant: a version is repaired by one exchange of whole directories, so that a reader sees
//! either the damaged version or the right one, even if the process is killed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use environments::EnvironmentName;
use rustix::fs::{CWD, RenameFlags};

use super::generated_types::damaged_types;
use super::{VersionError, VersionLayout, VersionSignature, VersionStore, sync_directory};
use crate::content::{
    ANY_EXECUTE, ContentHash, TreeEntry, content_error, create_directory, hash_object, sync,
};
use crate::version_lock::LOCK_FILE;

/// Predicate over contents of the store: hash, executable, size in bytes.
pub(crate) type IsContentRight<'a> = &'a dyn Fn(ContentHash, bool, u64) -> bool;

// === impl VersionStore ===

impl VersionStore {
    /// Returns the paths of files and links that are missing or differ from the layout. Every file
    /// is hashed, except hard links to a content, for which `is_right` decides. Additional files
    /// are ignored.
    pub fn damaged_paths(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
        layout: &VersionLayout,
        is_right: IsContentRight<'_>,
    ) -> Vec<String> {
        let root = self.path(environment, signature);
        let entries = layout.entries().filter(|(path, entry)| {
            let place = root.join(path);
            !self.is_entry(&place, entry, is_right)
        });
        // A promoted version keeps the lock of the environment for which it was built, so only the
        // lock's signature is compared.
        let lock = self.read_lock(environment, signature);
        let types = match &lock {
            Some(lock) if lock.generated_types => damaged_types(&root),
            _ => Vec::new(),
        };
        let is_lock_right = lock.is_some_and(|lock| lock.signature() == *signature);
        entries
            .map(|(path, _)| path.to_string())
            .chain((!is_lock_right).then(|| LOCK_FILE.to_owned()))
            .chain(types)
            .collect()
    }

    fn is_entry(&self, place: &Path, entry: &TreeEntry, is_right: IsContentRight<'_>) -> bool {
        match entry {
            TreeEntry::File {
                sha256,
                size_bytes,
                executable,
            } => self.is_file(place, (*sha256, *executable), *size_bytes, is_right),
            TreeEntry::Link { target } => fs::read_link(place)
                .is_ok_and(|found| found == Path::new(OsStr::from_bytes(target))),
        }
    }

    fn is_file(
        &self,
        place: &Path,
        (sha256, executable): (ContentHash, bool),
        size_bytes: u64,
        is_right: IsContentRight<'_>,
    ) -> bool {
        let Ok(metadata) = fs::symlink_metadata(place) else {
            return false;
        };
        let is_executable = metadata.permissions().mode() & ANY_EXECUTE != 0;
        if !metadata.is_file() || metadata.len() != size_bytes || is_executable != executable {
            return false;
        }
        let object = fs::symlink_metadata(self.content.object_path(sha256, executable));
        let is_object =
            object.is_ok_and(|it| (it.dev(), it.ino()) == (metadata.dev(), metadata.ino()));
        match is_object {
            true => is_right(sha256, executable, size_bytes),
            false => hash_object(place).is_ok_and(|found| found == sha256),
        }
    }

    /// Replaces a version that has damaged files, and returns their paths. `more` may add files to
    /// the new directory. Blocks.
    pub fn repair_damaged<E: From<VersionError>>(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
        layout: &VersionLayout,
        more: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<Vec<String>, E> {
        let content = self.content();
        let is_right =
            |sha256, executable, size_bytes| content.has_intact(sha256, executable, size_bytes);
        let damaged = self.damaged_paths(environment, signature, layout, &is_right);
        if damaged.is_empty() {
            return Ok(damaged);
        }
        for path in &damaged {
            tracing::error!(%environment, version = %signature, path, "a file of the version is damaged");
        }
        self.replace_damaged(environment, signature, layout, more)?;
        let files = damaged.len();
        tracing::warn!(%environment, version = %signature, files, "damaged files were put right");
        Ok(damaged)
    }

    /// Replaces a version with damaged files in one step. `more` may add files to the new directory
    /// before.
    pub(crate) fn replace_damaged<E: From<VersionError>>(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
        layout: &VersionLayout,
        more: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        let path = self.path(environment, signature);
        let incoming = self.incoming_directory().map_err(VersionError::from)?;
        let root = incoming.path().join("tree");
        create_directory(&root).map_err(VersionError::from)?;
        self.write_layout(&root, layout)?;
        more(&root)?;
        Ok(self.exchange_version(&root, &path)?)
    }

    fn exchange_version(&self, root: &Path, path: &Path) -> Result<(), VersionError> {
        sync(root)?;
        // The damaged version is now in the temporary directory, and is removed with it.
        rustix::fs::renameat_with(CWD, root, CWD, path, RenameFlags::EXCHANGE)
            .map_err(|error| content_error("heal", path)(error.into()))?;
        Ok(sync_directory(&self.versions)?)
    }
}
