//! Contents on their way here: [`Arriving`].
//!
//! Each is a file with the name that it will have in the store. It stays when a connection breaks and when the
//! follower is killed, so the next try goes on where the last one ended. The rules that must hold:
//! - one at a time writes to a file, and only to one that has no other name;
//! - nothing gets its name in the store before it is on the disk;
//! - what no version waits for any more is bounded.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

use tokio::sync::OwnedMutexGuard;

use super::part::Part;
use crate::defaults::{FOLLOWER_LEFT, FOLLOWER_LEFT_BYTES, FOLLOWER_LEFT_FILES};
use code_store::content::{Content, ContentError, ContentHash, failed, make_directory, sync};

/// A content that a version wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wanted {
    pub(super) sha256: ContentHash,
    pub(super) executable: bool,
    pub(super) size_bytes: u64,
}

/// Where they arrive. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Arriving {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    content: Content,
    directory: PathBuf,
    /// Who writes to which file.
    writing: Mutex<HashMap<PathBuf, Weak<tokio::sync::Mutex<()>>>>,
    /// What versions wait for.
    awaited: Mutex<Vec<Weak<BTreeSet<PathBuf>>>>,
}

/// A version waits for these; as long as this lives, they are not tidied away.
#[derive(Debug)]
pub(super) struct Awaited(Arc<BTreeSet<PathBuf>>);

// === impl Arriving ===

impl Arriving {
    /// Opens the place beside the store; what came before is still there. Blocks.
    pub(super) fn open(content: &Content) -> Result<Self, ContentError> {
        let directory = content.root().join("arriving");
        make_directory(&directory)?;
        let arriving = Self {
            inner: Arc::new(Inner {
                content: content.clone(),
                directory,
                writing: Mutex::default(),
                awaited: Mutex::default(),
            }),
        };
        arriving.tidy()?;
        Ok(arriving)
    }

    /// The store that they go to.
    pub(super) fn content(&self) -> &Content {
        &self.inner.content
    }

    /// A version waits for these contents. Blocks.
    pub(super) fn wait_for(&self, all: &[Wanted]) -> Result<Awaited, ContentError> {
        let paths = Arc::new(all.iter().map(|it| self.path(it)).collect());
        locked(&self.inner.awaited).push(Arc::downgrade(&paths));
        self.tidy()?;
        Ok(Awaited(paths))
    }

    /// From now on nobody else writes to the file of a content.
    pub(super) async fn writing(&self, wanted: &Wanted) -> OwnedMutexGuard<()> {
        let lock = {
            let mut writing = locked(&self.inner.writing);
            writing.retain(|_, lock| lock.strong_count() > 0);
            let known = writing.entry(self.path(wanted)).or_default();
            known.upgrade().unwrap_or_else(|| {
                let lock = Arc::default();
                *known = Arc::downgrade(&lock);
                lock
            })
        };
        lock.lock_owned().await
    }

    /// What is here of a content; one that is here already as a whole is in the store, or in this.
    pub(super) async fn part(&self, wanted: &Wanted) -> Result<Part, ContentError> {
        Part::open(self.path(wanted), wanted.size_bytes).await
    }

    /// Gives contents that are here as a whole their names in the store. Blocks.
    pub(super) fn keep(&self, all: &[Wanted]) -> Result<(), ContentError> {
        let content = &self.inner.content;
        let is_here = |it: &&Wanted| !content.object(it.sha256, it.executable).exists();
        let fresh: Vec<&Wanted> = all.iter().filter(is_here).collect();
        for wanted in &fresh {
            let path = self.path(wanted);
            let mode = Permissions::from_mode(Content::mode(wanted.executable));
            self.unless_kept(wanted, fs::set_permissions(&path, mode))
                .map_err(failed("write to", &path))?;
        }
        sync(&self.inner.directory)?;
        for wanted in fresh {
            let (path, object) = (
                self.path(wanted),
                content.object(wanted.sha256, wanted.executable),
            );
            self.unless_kept(wanted, fs::hard_link(&path, &object))
                .map_err(failed("write to", &object))?;
            self.unless_kept(wanted, fs::remove_file(&path))
                .map_err(failed("remove", &path))?;
        }
        Ok(())
    }

    /// Another version may want the same, and have brought it into the store meanwhile.
    fn unless_kept(&self, wanted: &Wanted, done: io::Result<()>) -> io::Result<()> {
        let object = self.inner.content.object(wanted.sha256, wanted.executable);
        match done {
            Err(_) if object.exists() => Ok(()),
            done => done,
        }
    }

    /// Removes what came for a version: there is no room for it. Blocks.
    pub(super) fn give_up(&self, awaited: &Awaited) {
        for path in awaited.0.iter() {
            // It may not have come at all.
            drop(fs::remove_file(path));
        }
    }

    fn path(&self, wanted: &Wanted) -> PathBuf {
        let object = self.inner.content.object(wanted.sha256, wanted.executable);
        let name = object.file_name().unwrap_or_default();
        self.inner.directory.join(name)
    }

    /// Removes what no version waits for, but for what may be wanted once more: the latest of it. Blocks.
    fn tidy(&self) -> Result<(), ContentError> {
        let directory = &self.inner.directory;
        let awaited = {
            let mut awaited = locked(&self.inner.awaited);
            awaited.retain(|paths| paths.strong_count() > 0);
            awaited.iter().filter_map(Weak::upgrade).collect::<Vec<_>>()
        };
        let mut left = Vec::new();
        for entry in fs::read_dir(directory).map_err(failed("read", directory))? {
            let path = entry.map_err(failed("read", directory))?.path();
            if awaited.iter().any(|paths| paths.contains(&path)) {
                continue;
            }
            match fs::symlink_metadata(&path) {
                Ok(metadata) => left.push((metadata.mtime(), path, metadata)),
                // Its version has been got meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(failed("read", &path)(source)),
            }
        }
        left.sort_by_key(|(written, ..)| std::cmp::Reverse(*written));
        let (mut bytes, mut files) = (0, 0);
        for (_, path, metadata) in left {
            bytes += metadata.len();
            files += 1;
            let fits = bytes <= FOLLOWER_LEFT_BYTES && files <= FOLLOWER_LEFT_FILES;
            if !fits || !self.is_of_use(&path, &metadata) {
                remove(&path, &metadata).map_err(failed("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Whether it is a content that the store does not have, and came not too long ago.
    fn is_of_use(&self, path: &Path, metadata: &Metadata) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or_default();
        let (hash, executable) = match name.strip_suffix("-x") {
            Some(hash) => (hash, true),
            None => (name, false),
        };
        let is_known = hash
            .parse()
            .is_ok_and(|hash| !self.inner.content.object(hash, executable).exists());
        let written = metadata.modified().ok();
        let age = written.and_then(|it| SystemTime::now().duration_since(it).ok());
        is_known && metadata.is_file() && age.is_none_or(|age| age < FOLLOWER_LEFT)
    }
}

fn remove(path: &Path, metadata: &Metadata) -> io::Result<()> {
    let removed = match metadata.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
