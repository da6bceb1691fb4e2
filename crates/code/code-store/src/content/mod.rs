//! Content under its hash, shared by all environments. Main type: [`Content`].
//!
//! `objects/ab/<sha256>` are files, with `-x` behind it where they can be run; `trees/<id>` are manifests.
//! Versions of environments are hard links to the objects. The rules that must hold:
//! - an object gets its name after its bytes are on the disk, and is never written again; one whose bytes
//!   are not those of its name loses it before it is used for another tree or version;
//! - a manifest gets its name after its objects have theirs; where a power cut took an object's name away,
//!   the tree counts as not there and is brought again.

mod intake;
mod manifest;
mod path;
mod verified;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use intake::{Intake, IntakeError};
pub use manifest::{ContentHash, Entry, Manifest, ManifestError, TreeId};
pub use path::{TreePath, TreePathError};
use verified::VerifiedContents;
pub(crate) use verified::hash_of;

/// The store of contents. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Content {
    root: Arc<Path>,
    verified: Arc<VerifiedContents>,
}

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}", path.display())]
pub struct ContentError {
    what: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// Files are shared by many versions, so nobody may write to them.
const MODE: u32 = 0o444;
const MODE_EXECUTABLE: u32 = 0o555;
/// Of everybody who may run a file.
pub(crate) const ANY_EXECUTE: u32 = 0o111;
/// Others read versions, among them the puppetserver, through paths below this.
const MODE_DIRECTORY: u32 = 0o755;

// === impl Content ===

impl Content {
    /// Opens the store in this directory, which is made if it is not there; what an interrupted deployment
    /// left behind is removed.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, ContentError> {
        let root: PathBuf = root.into();
        let content = Self::look(root.clone());
        let incoming = content.incoming();
        match fs::remove_dir_all(&incoming) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(failed("remove", &incoming)(source)),
        }
        make_directory(&incoming)?;
        // The last one of them is made last.
        if content.trees().is_dir() {
            return Ok(content);
        }
        for first in 0..=u8::MAX {
            make_directory(&content.objects_of(first))?;
        }
        sync(&root)?;
        make_directory(&content.trees())?;
        sync(&root)?;
        Ok(content)
    }

    /// The same only to read from.
    pub fn look(root: PathBuf) -> Self {
        Self {
            root: root.into(),
            verified: Arc::default(),
        }
    }

    /// Begins to take a tree in.
    pub fn intake(&self) -> Result<Intake, ContentError> {
        Intake::new(self.clone())
    }

    /// A tree that is here as a whole.
    pub fn tree(&self, id: TreeId) -> Result<Option<Manifest>, ContentError> {
        let path = self.trees().join(id.to_string());
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(failed("read", &path)(source)),
        };
        let is_whole = ContentHash::of(&text) == id;
        match Manifest::decode(&text) {
            Ok(manifest) if is_whole => Ok(Some(manifest)),
            _ => {
                tracing::warn!(path = %path.display(), "a damaged list of files is made anew");
                Ok(None)
            }
        }
    }

    /// The content of a file.
    pub fn read(&self, sha256: ContentHash, executable: bool) -> Result<Vec<u8>, ContentError> {
        let path = self.object(sha256, executable);
        fs::read(&path).map_err(failed("read", &path))
    }

    /// The content of a file, whether it can be run or not, and its size.
    pub fn open_object(&self, sha256: ContentHash) -> Result<Option<(File, u64)>, ContentError> {
        for executable in [false, true] {
            let path = self.object(sha256, executable);
            match File::open(&path) {
                Ok(file) => {
                    let size_bytes = file.metadata().map_err(failed("read", &path))?.len();
                    return Ok(Some((file, size_bytes)));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(failed("read", &path)(source)),
            }
        }
        Ok(None)
    }

    /// Where the content of a file is.
    pub fn object(&self, sha256: ContentHash, executable: bool) -> PathBuf {
        let mut name = sha256.to_string();
        let directory = self.objects().join(&name[..2]);
        if executable {
            name.push_str("-x");
        }
        directory.join(name)
    }

    /// What files of the store may be used for.
    pub fn mode(executable: bool) -> u32 {
        match executable {
            true => MODE_EXECUTABLE,
            false => MODE,
        }
    }

    /// Keeps a manifest of which all files are here. After it that is so whatever happens to the machine.
    pub fn keep_tree(&self, manifest: &Manifest) -> Result<TreeId, ContentError> {
        let (id, text) = manifest.encode();
        let kept = self.trees().join(id.to_string());
        let staged = tempfile::Builder::new()
            .prefix("manifest-")
            .tempdir_in(self.incoming())
            .map_err(failed("write to", &self.incoming()))?;
        let path = staged.path().join("manifest");
        fs::write(&path, text).map_err(failed("write to", &path))?;
        sync(staged.path())?;
        fs::rename(&path, &kept).map_err(failed("write to", &kept))?;
        Ok(id)
    }

    /// Whether all files of a tree are here.
    pub fn is_whole(&self, manifest: &Manifest) -> bool {
        manifest.entries().all(|(_, entry)| match entry {
            Entry::File {
                sha256,
                executable,
                size_bytes,
            } => self.has(*sha256, *executable, *size_bytes),
            Entry::Link { .. } => true,
        })
    }

    /// True if the content of a file is in the store with the bytes that its name says, which are hashed once in
    /// the life of this process. Other content, as a disk leaves it that lost acknowledged writes, loses its name,
    /// so that it is fetched again.
    pub fn has(&self, sha256: ContentHash, executable: bool, size_bytes: u64) -> bool {
        let path = self.object(sha256, executable);
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
        // One that stays is found again.
        drop(fs::remove_file(&path));
        false
    }

    /// Where it all is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn objects(&self) -> PathBuf {
        self.root.join("objects")
    }

    /// Where the objects are whose hashes begin with this byte.
    pub(crate) fn objects_of(&self, first: u8) -> PathBuf {
        self.objects().join(format!("{first:02x}"))
    }

    fn trees(&self) -> PathBuf {
        self.root.join("trees")
    }

    /// Where nothing has its name yet; what is left there is removed at the next start.
    pub fn incoming(&self) -> PathBuf {
        self.root.join("incoming")
    }
}

// === impl ContentError ===

impl ContentError {
    /// Whether there is no room on the disk.
    pub fn is_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self.source.kind(), QuotaExceeded | StorageFull)
    }
}

pub fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ContentError {
    let path = path.to_owned();
    move |source| ContentError { what, path, source }
}

/// A directory that others may look into, and those above it.
pub fn make_directory(path: &Path) -> Result<(), ContentError> {
    if path.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(path).map_err(failed("make", path))?;
    let mode = fs::Permissions::from_mode(MODE_DIRECTORY);
    fs::set_permissions(path, mode).map_err(failed("make", path))
}

/// Everything that was written to the file system of this path, and names in it, is on the disk after it.
pub fn sync(path: &Path) -> Result<(), ContentError> {
    let file = File::open(path).map_err(failed("open", path))?;
    rustix::fs::syncfs(&file)
        .map_err(|error| failed("write to the disk what is in", path)(error.into()))
}
