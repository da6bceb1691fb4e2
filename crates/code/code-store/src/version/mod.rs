//! Versions of environments on the disk, and the switch between them. Main type: [`VersionStore`].
//!
//! A version is a directory `<environment>_<signature>` of hard links into the content store, which
//! never changes once it has its name; the live version is the target of
//! `environments/<environment>`, an absolute link. Invariants:
//! - a directory has its name only after all of it is on the disk;
//! - a switch is one rename: a reader that opens the environment sees either the old version or the
//!   new one.

mod files;
mod generated_types;
mod layout;
mod removal_notes;
mod repair;
mod retired;
mod signature;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use environments::EnvironmentName;
use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

pub use files::{FileReadCallback, ReadManifestError, hash_file, read_manifest};
pub use generated_types::{GENERATED_FILE, write_generated_types_list};
pub use layout::{LayoutError, LayoutPart, VersionLayout};
pub(crate) use repair::IsContentRight;
pub use signature::{SignatureError, VersionSignature};

use crate::content::{
    ContentError, ContentStore, TreeEntry, content_error, create_directory, sync,
};
use crate::version_lock::{LOCK_FILE, VersionLock};

/// The store of versions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct VersionStore {
    content: ContentStore,
    versions: Arc<Path>,
    environments: Arc<Path>,
}

/// Result of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionSwitch {
    /// Version that was live before.
    pub before: Option<VersionSignature>,
    /// New path of a directory that was in the link's place and not a version deployed by Tutti.
    pub moved_aside: Option<PathBuf>,
}

/// Reason that a version cannot be built or switched to.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// The disk cannot be used.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// A content is not in the store any more.
    #[error("the content of {path} is gone from the store; deploy once more")]
    ContentMissing {
        /// Path of the file.
        path: String,
    },
    /// There is no such version.
    #[error("there is no version {signature} of the environment {environment} on this server")]
    Unknown {
        /// Name of the environment.
        environment: EnvironmentName,
        /// Signature of the missing version.
        signature: VersionSignature,
    },
}

/// Prefix of the names of unfinished directories, which the next start removes.
pub(crate) const INCOMING: &str = ".incoming-";

// === impl VersionStore ===

impl VersionStore {
    /// Opens the store: versions in `versions`, which must be on the file system of the content;
    /// links in `environments`. Remains of an interrupted deployment are removed.
    pub fn open(
        content: ContentStore,
        versions: &Path,
        environments: &Path,
    ) -> Result<Self, ContentError> {
        for directory in [versions, environments] {
            create_directory(directory)?;
        }
        // Links must be absolute: Puppet resolves them against its own working directory.
        let absolute = |path: &Path| path.canonicalize().map_err(content_error("find", path));
        let (versions, environments) = (absolute(versions)?, absolute(environments)?);
        for directory in [&versions, &environments] {
            remove_leftovers(directory)?;
        }
        let versions = Self {
            content,
            versions: versions.into(),
            environments: environments.into(),
        };
        versions.clear_retired(&CancellationToken::new())?;
        Ok(versions)
    }

    /// Opens the store only for reading, possibly beside a process that deploys; nothing is created
    /// or removed. `directory` is the directory of deployments, `environments` that of Puppet.
    pub fn open_read_only(directory: &Path, environments: &Path) -> Self {
        let versions = directory.join("versions");
        let absolute = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self {
            content: ContentStore::open_read_only(directory.join("content")),
            versions: absolute(&versions).into(),
            environments: absolute(environments).into(),
        }
    }

    /// Returns the path of a version, which need not exist.
    pub fn path(&self, environment: &EnvironmentName, signature: &VersionSignature) -> PathBuf {
        self.versions.join(format!("{environment}_{signature}"))
    }

    /// Returns true if a version exists.
    pub fn has(&self, environment: &EnvironmentName, signature: &VersionSignature) -> bool {
        self.path(environment, signature).is_dir()
    }

    /// Returns the live version; `None` if the environment does not exist or was not deployed by
    /// Tutti.
    pub fn live_version(&self, environment: &EnvironmentName) -> Option<VersionSignature> {
        let target = fs::read_link(self.link(environment)).ok()?;
        if target.parent()? != &*self.versions {
            return None;
        }
        let name = target.file_name()?.to_str()?;
        let signature = name.strip_prefix(environment.as_str())?.strip_prefix('_')?;
        signature.parse().ok()
    }

    /// Returns the path of the environment, which is a link to the live version.
    pub fn link(&self, environment: &EnvironmentName) -> PathBuf {
        self.environments.join(environment.as_str())
    }

    /// Builds a version beside the live one. A version that exists already is not changed.
    pub fn build(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
        layout: &VersionLayout,
    ) -> Result<PathBuf, VersionError> {
        self.build_with(environment, signature, layout, |_| Ok(()))
    }

    /// Builds a version; `more` may add files to the directory before it gets its name.
    pub fn build_with<E: From<VersionError>>(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
        layout: &VersionLayout,
        more: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let path = self.path(environment, signature);
        if path.is_dir() {
            return Ok(path);
        }
        self.build_at(&path, |root| {
            self.write_layout(root, layout)?;
            more(root)
        })?;
        Ok(path)
    }

    /// Fills a directory, which gets its name when all of it is on the disk.
    fn build_at<E: From<VersionError>>(
        &self,
        path: &Path,
        fill: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        let incoming = self.incoming_directory().map_err(VersionError::from)?;
        let root = incoming.path().join("tree");
        create_directory(&root).map_err(VersionError::from)?;
        fill(&root)?;
        Ok(self.move_into_place(&root, path)?)
    }

    fn move_into_place(&self, root: &Path, path: &Path) -> Result<(), VersionError> {
        sync(root)?;
        match fs::rename(root, path) {
            Ok(()) => {}
            // Another deployment built the same version.
            Err(_) if path.is_dir() => {}
            Err(source) => return Err(content_error("write to", path)(source).into()),
        }
        Ok(sync_directory(&self.versions)?)
    }

    /// Creates a temporary directory beside the versions, which is removed in any case.
    fn incoming_directory(&self) -> Result<tempfile::TempDir, ContentError> {
        tempfile::Builder::new()
            .prefix(INCOMING)
            .tempdir_in(&self.versions)
            .map_err(content_error("write to", &self.versions))
    }

    /// Copies a version of one environment to another, with the same files.
    pub fn copy(
        &self,
        from: &EnvironmentName,
        signature: &VersionSignature,
        to: &EnvironmentName,
    ) -> Result<(), VersionError> {
        let (source, path) = (self.path(from, signature), self.path(to, signature));
        if !source.is_dir() {
            return Err(VersionError::Unknown {
                environment: from.clone(),
                signature: signature.clone(),
            });
        }
        match path.is_dir() {
            true => Ok(()),
            false => self.build_at(&path, |root| Ok(link_tree(&source, root)?)),
        }
    }

    /// Returns the time at which a version was built, or was last live.
    pub fn last_used(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> Option<SystemTime> {
        let metadata = fs::metadata(self.path(environment, signature)).ok()?;
        metadata.modified().ok()
    }

    fn write_layout(&self, root: &Path, layout: &VersionLayout) -> Result<(), VersionError> {
        let mut made: HashSet<&[u8]> = HashSet::new();
        for path in layout.paths() {
            let missing: Vec<&[u8]> = path.parents().take_while(|it| made.insert(it)).collect();
            for directory in missing.into_iter().rev() {
                let directory = root.join(OsStr::from_bytes(directory));
                match fs::create_dir(&directory) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(content_error("make", &directory)(error).into());
                    }
                    _ => {}
                }
            }
        }
        for (path, entry) in layout.entries() {
            let place = root.join(path);
            match entry {
                TreeEntry::File {
                    sha256, executable, ..
                } => {
                    let object = self.content.object_path(*sha256, *executable);
                    fs::hard_link(&object, &place).map_err(|error| match error.kind() {
                        io::ErrorKind::NotFound => VersionError::ContentMissing {
                            path: path.to_string(),
                        },
                        _ => content_error("write to", &place)(error).into(),
                    })?;
                }
                TreeEntry::Link { target } => {
                    let target = OsStr::from_bytes(target);
                    std::os::unix::fs::symlink(target, &place)
                        .map_err(content_error("make", &place))?;
                }
            }
        }
        for (path, bytes) in layout.written_files() {
            let place = root.join(path);
            fs::write(&place, bytes).map_err(content_error("write to", &place))?;
        }
        Ok(())
    }

    /// Makes a version live. A directory in the place of the link is moved aside.
    pub fn switch(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> Result<VersionSwitch, VersionError> {
        let target = self.path(environment, signature);
        if !target.is_dir() {
            return Err(VersionError::Unknown {
                environment: environment.clone(),
                signature: signature.clone(),
            });
        }
        let before = self.live_version(environment);
        if let Some(before) = &before {
            self.note_use(environment, before);
        }
        let link = self.link(environment);
        let stands = fs::symlink_metadata(&link);
        let moved_aside = match stands.is_ok_and(|stands| !stands.is_symlink()) {
            true => Some(self.exchange(environment, &target, &link)?),
            false => {
                self.replace(&target, &link)?;
                None
            }
        };
        sync_directory(&self.environments)?;
        Ok(VersionSwitch {
            before,
            moved_aside,
        })
    }

    /// Creates a link, atomically replacing another link.
    fn replace(&self, target: &Path, link: &Path) -> Result<(), ContentError> {
        let staged = tempfile::Builder::new()
            .prefix(INCOMING)
            .tempdir_in(&self.environments)
            .map_err(content_error("write to", &self.environments))?;
        let fresh = staged.path().join("link");
        std::os::unix::fs::symlink(target, &fresh).map_err(content_error("make", &fresh))?;
        fs::rename(&fresh, link).map_err(content_error("switch", link))
    }

    /// Records that a version was live until now. If this fails, the version is only removed
    /// earlier.
    fn note_use(&self, environment: &EnvironmentName, signature: &VersionSignature) {
        let path = self.path(environment, signature);
        let noted = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        if let Err(error) = noted {
            tracing::debug!(path = %path.display(), %error, "cannot note when a version was live");
        }
    }

    /// Exchanges a directory with the link, in one step: even if the process is killed, the
    /// directory is never in a place that is cleared at the next start.
    fn exchange(
        &self,
        environment: &EnvironmentName,
        target: &Path,
        link: &Path,
    ) -> Result<PathBuf, ContentError> {
        // A rename cannot leave a mount. If the environments are on another mount than the
        // versions, the directory stays beside the link, under a name that is no environment's.
        let kept_in = [
            (&self.versions, format!("replaced-{environment}-")),
            (&self.environments, format!(".replaced-{environment}-")),
        ];
        let mut crossing = None;
        for (directory, prefix) in kept_in {
            let aside = tempfile::Builder::new()
                .prefix(&prefix)
                .tempdir_in(directory)
                .map_err(content_error("write to", directory))?;
            let kept = aside.path().join(environment.as_str());
            std::os::unix::fs::symlink(target, &kept).map_err(content_error("make", &kept))?;
            match rustix::fs::renameat_with(CWD, &kept, CWD, link, RenameFlags::EXCHANGE) {
                Ok(()) => {
                    // The directory is kept from here on, since it is the only copy.
                    let aside = aside.keep();
                    sync_directory(&aside)?;
                    sync_directory(directory)?;
                    return Ok(kept);
                }
                Err(error) if error == Errno::XDEV => crossing = Some(error),
                Err(error) => return Err(content_error("switch", link)(error.into())),
            }
        }
        let error = crossing.unwrap_or(Errno::XDEV);
        Err(content_error("switch", link)(error.into()))
    }

    /// Removes an environment's link; its versions stay.
    pub fn remove(&self, environment: &EnvironmentName) -> Result<bool, ContentError> {
        let Some(live) = self.live_version(environment) else {
            return Ok(false);
        };
        self.note_use(environment, &live);
        let link = self.link(environment);
        fs::remove_file(&link).map_err(content_error("remove", &link))?;
        sync_directory(&self.environments)?;
        Ok(true)
    }

    /// Returns the environments that have a live version deployed by Tutti, with that version.
    pub fn live_environments(
        &self,
    ) -> Result<Vec<(EnvironmentName, VersionSignature)>, ContentError> {
        let names = list_names(&self.environments)?;
        let names = names.iter().filter_map(|name| name.parse().ok());
        let live = |name: EnvironmentName| Some((self.live_version(&name)?, name));
        let mut found: Vec<_> = names
            .filter_map(live)
            .map(|(live, name)| (name, live))
            .collect();
        found.sort();
        Ok(found)
    }

    /// Returns all versions in the store.
    pub fn all_versions(&self) -> Result<Vec<(EnvironmentName, VersionSignature)>, ContentError> {
        let names = list_names(&self.versions)?;
        let mut found: Vec<_> = names
            .iter()
            .filter_map(|name| parse_version_name(name))
            .collect();
        found.sort();
        Ok(found)
    }

    /// Returns the lock of a version; `None` if there is no such version, or its lock is damaged.
    pub fn read_lock(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> Option<VersionLock> {
        let text = fs::read(self.path(environment, signature).join(LOCK_FILE)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Returns the directory of the code store, which contains the contents, copies of repositories
    /// and notes.
    pub fn directory(&self) -> &Path {
        let content = self.content.root();
        content.parent().unwrap_or(content)
    }

    /// Returns the store of the contents that all versions share.
    pub fn content(&self) -> &ContentStore {
        &self.content
    }
}

/// Creates hard links to the files and links of a directory in another directory.
fn link_tree(from: &Path, to: &Path) -> Result<(), ContentError> {
    for entry in fs::read_dir(from).map_err(content_error("read", from))? {
        let entry = entry.map_err(content_error("read", from))?;
        let (path, place) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(content_error("read", &path))?;
        if kind.is_dir() {
            fs::create_dir(&place).map_err(content_error("make", &place))?;
            link_tree(&path, &place)?;
        } else {
            // A symbolic link is not followed.
            fs::hard_link(&path, &place).map_err(content_error("make", &place))?;
        }
    }
    Ok(())
}

fn parse_version_name(name: &str) -> Option<(EnvironmentName, VersionSignature)> {
    let (environment, signature) = name.rsplit_once('_')?;
    Some((environment.parse().ok()?, signature.parse().ok()?))
}

fn list_names(directory: &Path) -> Result<Vec<String>, ContentError> {
    let mut names = Vec::new();
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        // Nothing was deployed yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(names),
        Err(error) => return Err(content_error("read", directory)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(content_error("read", directory))?;
        names.extend(entry.file_name().into_string().ok());
    }
    Ok(names)
}

fn remove_leftovers(directory: &Path) -> Result<(), ContentError> {
    for name in list_names(directory)? {
        if name.starts_with(INCOMING) {
            let path = directory.join(name);
            fs::remove_dir_all(&path).map_err(content_error("remove", &path))?;
        }
    }
    Ok(())
}

fn sync_directory(path: &Path) -> Result<(), ContentError> {
    let synced = File::open(path).and_then(|file| file.sync_all());
    synced.map_err(content_error("write to the disk", path))
}
