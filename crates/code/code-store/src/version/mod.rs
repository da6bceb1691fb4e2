//! Versions of environments on the disk, and which of them is live. Main type: [`VersionStore`].
//!
//! A version is a directory `<environment>_<signature>` of hard links into the content store, never changed
//! once it has its name; the live one is where `environments/<environment>` leads, an absolute link. The
//! rules that must hold:
//! - a directory has its name only after all of it is on the disk;
//! - a switch is one rename: a reader that opens the environment sees the old version or the new one.

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

/// All versions. Cheap to clone.
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
    /// The disk.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// A file of it is not in the store any more.
    #[error("the content of {path} is gone from the store; deploy once more")]
    ContentMissing {
        /// Which file.
        path: String,
    },
    /// There is no such version.
    #[error("there is no version {signature} of the environment {environment} on this server")]
    Unknown {
        /// Of what.
        environment: EnvironmentName,
        /// Which.
        signature: VersionSignature,
    },
}

/// Beginning of names that the next start removes.
pub(crate) const INCOMING: &str = ".incoming-";

// === impl Versions ===

impl VersionStore {
    /// Versions in `versions`, which must be on the file system of the content; links in `environments`.
    /// What an interrupted deployment left behind is removed.
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

    /// The same only to look at, beside a process that deploys; nothing is made or removed. By the directory of
    /// deployments and Puppet's `environments`.
    pub fn open_read_only(directory: &Path, environments: &Path) -> Self {
        let versions = directory.join("versions");
        let absolute = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self {
            content: ContentStore::open_read_only(directory.join("content")),
            versions: absolute(&versions).into(),
            environments: absolute(environments).into(),
        }
    }

    /// Path of a version, whether it exists or not.
    pub fn path(&self, environment: &EnvironmentName, signature: &VersionSignature) -> PathBuf {
        self.versions.join(format!("{environment}_{signature}"))
    }

    /// True if a version exists.
    pub fn has(&self, environment: &EnvironmentName, signature: &VersionSignature) -> bool {
        self.path(environment, signature).is_dir()
    }

    /// The live version; `None`: the environment is not there, or is none of ours.
    pub fn live_version(&self, environment: &EnvironmentName) -> Option<VersionSignature> {
        let target = fs::read_link(self.link(environment)).ok()?;
        if target.parent()? != &*self.versions {
            return None;
        }
        let name = target.file_name()?.to_str()?;
        let signature = name.strip_prefix(environment.as_str())?.strip_prefix('_')?;
        signature.parse().ok()
    }

    /// Puppet's name for the live version.
    pub fn link(&self, environment: &EnvironmentName) -> PathBuf {
        self.environments.join(environment.as_str())
    }

    /// Builds a version beside the live one. One that is here already is left as it is.
    pub fn build(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
        layout: &VersionLayout,
    ) -> Result<PathBuf, VersionError> {
        self.build_with(environment, signature, layout, |_| Ok(()))
    }

    /// The same; `more` may add to the directory before it gets its name.
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

    /// Fills a directory that gets its name when all of it is on the disk.
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
            // Another deployment built the same.
            Err(_) if path.is_dir() => {}
            Err(source) => return Err(content_error("write to", path)(source).into()),
        }
        Ok(sync_directory(&self.versions)?)
    }

    /// A place beside the versions, which is removed whatever happens.
    fn incoming_directory(&self) -> Result<tempfile::TempDir, ContentError> {
        tempfile::Builder::new()
            .prefix(INCOMING)
            .tempdir_in(&self.versions)
            .map_err(content_error("write to", &self.versions))
    }

    /// Makes a version of one environment one of another, too: the same files.
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

    /// Time at which a version was built, or was last live.
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

    /// Makes a version live.
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

    /// Puts a link where another one, or nothing, stands.
    fn replace(&self, target: &Path, link: &Path) -> Result<(), ContentError> {
        let staged = tempfile::Builder::new()
            .prefix(INCOMING)
            .tempdir_in(&self.environments)
            .map_err(content_error("write to", &self.environments))?;
        let fresh = staged.path().join("link");
        std::os::unix::fs::symlink(target, &fresh).map_err(content_error("make", &fresh))?;
        fs::rename(&fresh, link).map_err(content_error("switch", link))
    }

    /// Keeps that a version was live until now. Without it, it is only removed earlier.
    fn note_use(&self, environment: &EnvironmentName, signature: &VersionSignature) {
        let path = self.path(environment, signature);
        let noted = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        if let Err(error) = noted {
            tracing::debug!(path = %path.display(), %error, "cannot note when a version was live");
        }
    }

    /// Puts the link where a directory stands, and the directory where it stays, in one step: no moment, and no kill,
    /// finds the directory in a place that is cleared.
    fn exchange(
        &self,
        environment: &EnvironmentName,
        target: &Path,
        link: &Path,
    ) -> Result<PathBuf, ContentError> {
        // Another mount than that of the versions is left by no rename; there, a name that is no environment's.
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
                    // From here on it is the only copy.
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

    /// Takes an environment away: its versions stay.
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

    /// The environments that have a live version of ours, with it.
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

    /// All versions that are here.
    pub fn all_versions(&self) -> Result<Vec<(EnvironmentName, VersionSignature)>, ContentError> {
        let names = list_names(&self.versions)?;
        let mut found: Vec<_> = names
            .iter()
            .filter_map(|name| parse_version_name(name))
            .collect();
        found.sort();
        Ok(found)
    }

    /// The lock of a version; `None` if there is no such version, or its lock is damaged.
    pub fn read_lock(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> Option<VersionLock> {
        let text = fs::read(self.path(environment, signature).join(LOCK_FILE)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Directory of the code store, which has the contents, copies of repositories and notes.
    pub fn directory(&self) -> &Path {
        let content = self.content.root();
        content.parent().unwrap_or(content)
    }

    /// The content that they share.
    pub fn content(&self) -> &ContentStore {
        &self.content
    }
}

/// The same files and links in another directory.
fn link_tree(from: &Path, to: &Path) -> Result<(), ContentError> {
    for entry in fs::read_dir(from).map_err(content_error("read", from))? {
        let entry = entry.map_err(content_error("read", from))?;
        let (path, place) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(content_error("read", &path))?;
        if kind.is_dir() {
            fs::create_dir(&place).map_err(content_error("make", &place))?;
            link_tree(&path, &place)?;
        } else {
            // A symbolic link is linked as it is.
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
