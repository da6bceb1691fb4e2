//! Content under its hash, shared by all environments. Main type: [`ContentStore`].
//!
//! `objects/ab/<sha256>` are files, with the suffix `-x` if they are executable; `trees/<id>` are
//! manifests. Versions of environments are hard links to the objects. Invariants:
//! - an object gets its name after its bytes are on the disk, and is never written again; an
//!   object whose bytes do not match its name loses the name before it is used for another tree or
//!   version;
//! - a manifest gets its name after its objects have theirs; if a power cut removed an object's
//!   name, the tree counts as missing and is fetched again.

mod intake;
mod manifest;
mod path;
mod verified_contents;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use intake::{IntakeError, TreeIntake};
pub use manifest::{ContentHash, ManifestError, TreeEntry, TreeId, TreeManifest};
pub use path::{TreePath, TreePathError};
use verified_contents::VerifiedContents;
pub(crate) use verified_contents::hash_object;

/// The store of contents. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ContentStore {
    root: Arc<Path>,
    verified: Arc<VerifiedContents>,
}

/// Reason that the store cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}", path.display())]
pub struct ContentError {
    what: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// Mode of files: read-only, since they are shared by many versions.
const MODE: u32 = 0o444;
const MODE_EXECUTABLE: u32 = 0o555;
/// The execute bits of owner, group and others.
pub(crate) const ANY_EXECUTE: u32 = 0o111;
/// Mode of directories: other users, such as the puppetserver's, read versions through paths below
/// them.
const MODE_DIRECTORY: u32 = 0o755;

// === impl ContentStore ===

impl ContentStore {
    /// Opens the store in this directory, which is created if missing; remains of an interrupted
    /// deployment are removed.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, ContentError> {
        let root: PathBuf = root.into();
        let content = Self::open_read_only(root.clone());
        let incoming = content.incoming_directory();
        match fs::remove_dir_all(&incoming) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(content_error("remove", &incoming)(source)),
        }
        create_directory(&incoming)?;
        // This directory is created last, so the others exist.
        if content.trees_directory().is_dir() {
            return Ok(content);
        }
        for first in 0..=u8::MAX {
            create_directory(&content.object_directory(first))?;
        }
        sync(&root)?;
        create_directory(&content.trees_directory())?;
        sync(&root)?;
        Ok(content)
    }

    /// Opens the store only for reading.
    pub fn open_read_only(root: PathBuf) -> Self {
        Self {
            root: root.into(),
            verified: Arc::default(),
        }
    }

    /// Starts to store a tree.
    pub fn begin_intake(&self) -> Result<TreeIntake, ContentError> {
        TreeIntake::new(self.clone())
    }

    /// Returns the manifest of a tree; `None` unless all contents of the tree are in the store.
    pub fn read_tree(&self, id: TreeId) -> Result<Option<TreeManifest>, ContentError> {
        let path = self.trees_directory().join(id.to_string());
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(content_error("read", &path)(source)),
        };
        let is_whole = ContentHash::of(&text) == id;
        match TreeManifest::decode(&text) {
            Ok(manifest) if is_whole => Ok(Some(manifest)),
            _ => {
                tracing::warn!(path = %path.display(), "a damaged list of files is made anew");
                Ok(None)
            }
        }
    }

    /// Returns the content of a file.
    pub fn read(&self, sha256: ContentHash, executable: bool) -> Result<Vec<u8>, ContentError> {
        let path = self.object_path(sha256, executable);
        fs::read(&path).map_err(content_error("read", &path))
    }

    /// Opens the content of a file, executable or not; with its size in bytes.
    pub fn open_object(&self, sha256: ContentHash) -> Result<Option<(File, u64)>, ContentError> {
        for executable in [false, true] {
            let path = self.object_path(sha256, executable);
            match File::open(&path) {
                Ok(file) => {
                    let size_bytes = file.metadata().map_err(content_error("read", &path))?.len();
                    return Ok(Some((file, size_bytes)));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(content_error("read", &path)(source)),
            }
        }
        Ok(None)
    }

    /// Returns the path of the content of a file.
    pub fn object_path(&self, sha256: ContentHash, executable: bool) -> PathBuf {
        let mut name = sha256.to_string();
        let directory = self.objects_directory().join(&name[..2]);
        if executable {
            name.push_str("-x");
        }
        directory.join(name)
    }

    /// Returns the mode of files in the store.
    pub fn file_mode(executable: bool) -> u32 {
        match executable {
            true => MODE_EXECUTABLE,
            false => MODE,
        }
    }

    /// Stores a manifest whose files are all in the store. Afterwards the tree is durable.
    pub fn store_tree(&self, manifest: &TreeManifest) -> Result<TreeId, ContentError> {
        let (id, text) = manifest.encode();
        let kept = self.trees_directory().join(id.to_string());
        let staged = tempfile::Builder::new()
            .prefix("manifest-")
            .tempdir_in(self.incoming_directory())
            .map_err(content_error("write to", &self.incoming_directory()))?;
        let path = staged.path().join("manifest");
        fs::write(&path, text).map_err(content_error("write to", &path))?;
        sync(staged.path())?;
        fs::rename(&path, &kept).map_err(content_error("write to", &kept))?;
        Ok(id)
    }

    /// Returns true if all files of a tree are in the store.
    pub fn has_all_contents(&self, manifest: &TreeManifest) -> bool {
        manifest.entries().all(|(_, entry)| match entry {
            TreeEntry::File {
                sha256,
                executable,
                size_bytes,
            } => self.has_intact(*sha256, *executable, *size_bytes),
            TreeEntry::Link { .. } => true,
        })
    }

    /// Returns true if the content of a file is in the store and its bytes match its name; they are
    /// hashed once per process. A content that does not match, such as after a disk lost
    /// acknowledged writes, loses its name, so that it is fetched again.
    pub fn has_intact(&self, sha256: ContentHash, executable: bool, size_bytes: u64) -> bool {
        let path = self.object_path(sha256, executable);
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            return false;
        };
        let is_executable = metadata.permissions().mode() & ANY_EXECUTE != 0;
        if metadata.is_file()
            && metadata.len() == size_bytes
            && is_executable == executable
            && self.verified.verify((sha256, executable), &path, &metadata)
        {
            return true;
        }
        tracing::warn!(path = %path.display(), "a damaged content is brought anew");
        // If the removal fails, the damage is found again.
        drop(fs::remove_file(&path));
        false
    }

    /// Root directory of the store.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn objects_directory(&self) -> PathBuf {
        self.root.join("objects")
    }

    /// Directory of the objects whose hashes begin with this byte.
    pub(crate) fn object_directory(&self, first: u8) -> PathBuf {
        self.objects_directory().join(format!("{first:02x}"))
    }

    fn trees_directory(&self) -> PathBuf {
        self.root.join("trees")
    }

    /// Directory of unfinished files; remains in it are removed at the next start.
    pub fn incoming_directory(&self) -> PathBuf {
        self.root.join("incoming")
    }
}

// === impl ContentError ===

impl ContentError {
    /// Returns true if the disk or the quota is full.
    pub fn is_disk_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self.source.kind(), QuotaExceeded | StorageFull)
    }
}

pub fn content_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ContentError {
    let path = path.to_owned();
    move |source| ContentError { what, path, source }
}

/// Creates a directory that other users can read, with its missing parents.
pub fn create_directory(path: &Path) -> Result<(), ContentError> {
    if path.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(path).map_err(content_error("make", path))?;
    let mode = fs::Permissions::from_mode(MODE_DIRECTORY);
    fs::set_permissions(path, mode).map_err(content_error("make", path))
}

/// Flushes all data and names of the file system of this path to the disk.
pub fn sync(path: &Path) -> Result<(), ContentError> {
    let file = File::open(path).map_err(content_error("open", path))?;
    rustix::fs::syncfs(&file)
        .map_err(|error| content_error("write to the disk what is in", path)(error.into()))
}
