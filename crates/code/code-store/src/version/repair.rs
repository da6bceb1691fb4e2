//! Versions whose files are not those that they were built of: [`VersionStore::damaged_paths`], [`VersionStore::replace_damaged`].
//!
//! The rule that must hold: a version is healed by one exchange of whole directories, so that a reader of it
//! sees the damaged one or the right one, and a kill leaves one of them.

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

// === impl Versions ===

impl VersionStore {
    /// The files and links of a version that are missing or not as the layout has them, by path. Every file is
    /// hashed, unless it is a link to a content for which `is_right` answers, by hash, mode and size. Files that
    /// were added are not looked at.
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
        // A promoted version keeps the name of the environment that it was made for, which is no damage.
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

    /// Replaces a version with damaged files, and gives their paths. `more` may add to the directory before. Blocks.
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

    /// Puts a version in the place of one with damaged files, in one step. `more` may add to the directory
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
        // The damaged one is removed with the directory that it goes to.
        rustix::fs::renameat_with(CWD, root, CWD, path, RenameFlags::EXCHANGE)
            .map_err(|error| content_error("heal", path)(error.into()))?;
        Ok(sync_directory(&self.versions)?)
    }
}
