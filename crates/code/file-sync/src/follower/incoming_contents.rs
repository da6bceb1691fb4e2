//! Contents that are being downloaded: [`IncomingContents`].
//!
//! Each is a file with the name that it will have in the store. The file survives a broken
//! connection and a killed follower, so that the next attempt resumes it. Invariants:
//! - a file has one writer at a time, and is written to only while it has no other name;
//! - a content gets its name in the store only after it is on the disk;
//! - the files that no version waits for are bounded in age, number and size.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

use tokio::sync::OwnedMutexGuard;

use super::partial_content::PartialContent;
use crate::defaults::{FOLLOWER_LEFT, FOLLOWER_LEFT_BYTES, FOLLOWER_LEFT_FILES};
use code_store::content::{
    ContentError, ContentHash, ContentStore, content_error, create_directory, sync,
};

/// A content of a version that the store lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MissingContent {
    pub(super) sha256: ContentHash,
    pub(super) executable: bool,
    pub(super) size_bytes: u64,
}

/// The directory of contents that are being downloaded. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct IncomingContents {
    inner: Arc<IncomingContentsInner>,
}

#[derive(Debug)]
struct IncomingContentsInner {
    content: ContentStore,
    directory: PathBuf,
    /// Locks of the files that are being written.
    writing: Mutex<HashMap<PathBuf, Weak<tokio::sync::Mutex<()>>>>,
    /// Files for each version that is being fetched.
    awaited: Mutex<Vec<Weak<BTreeSet<PathBuf>>>>,
}

/// The contents that a version waits for; they are not removed while this value lives.
#[derive(Debug)]
pub(super) struct AwaitedContents(Arc<BTreeSet<PathBuf>>);

// === impl IncomingContents ===

impl IncomingContents {
    /// Opens the directory in the store; earlier downloads are kept. Blocks.
    pub(super) fn open(content: &ContentStore) -> Result<Self, ContentError> {
        let directory = content.root().join("arriving");
        create_directory(&directory)?;
        let arriving = Self {
            inner: Arc::new(IncomingContentsInner {
                content: content.clone(),
                directory,
                writing: Mutex::default(),
                awaited: Mutex::default(),
            }),
        };
        arriving.remove_unneeded()?;
        Ok(arriving)
    }

    /// The store that complete contents are moved to.
    pub(super) fn content(&self) -> &ContentStore {
        &self.inner.content
    }

    /// Registers the contents that a version waits for. Blocks.
    pub(super) fn await_contents(
        &self,
        all: &[MissingContent],
    ) -> Result<AwaitedContents, ContentError> {
        let paths = Arc::new(all.iter().map(|it| self.path(it)).collect());
        lock(&self.inner.awaited).push(Arc::downgrade(&paths));
        self.remove_unneeded()?;
        Ok(AwaitedContents(paths))
    }

    /// Locks the file of a content for writing; waits for its current writer.
    pub(super) async fn lock_for_writing(&self, wanted: &MissingContent) -> OwnedMutexGuard<()> {
        let lock = {
            let mut writing = lock(&self.inner.writing);
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

    /// Opens the bytes of a content that were downloaded so far. A content that is complete is in
    /// the store, or in this file.
    pub(super) async fn open_partial(
        &self,
        wanted: &MissingContent,
    ) -> Result<PartialContent, ContentError> {
        PartialContent::open(self.path(wanted), wanted.size_bytes).await
    }

    /// Moves complete contents into the store. Blocks.
    pub(super) fn move_into_store(&self, all: &[MissingContent]) -> Result<(), ContentError> {
        let content = &self.inner.content;
        let is_here =
            |it: &&MissingContent| !content.object_path(it.sha256, it.executable).exists();
        let fresh: Vec<&MissingContent> = all.iter().filter(is_here).collect();
        for wanted in &fresh {
            let path = self.path(wanted);
            let mode = Permissions::from_mode(ContentStore::file_mode(wanted.executable));
            self.ignore_if_stored(wanted, fs::set_permissions(&path, mode))
                .map_err(content_error("write to", &path))?;
        }
        sync(&self.inner.directory)?;
        for wanted in fresh {
            let (path, object) = (
                self.path(wanted),
                content.object_path(wanted.sha256, wanted.executable),
            );
            self.ignore_if_stored(wanted, fs::hard_link(&path, &object))
                .map_err(content_error("write to", &object))?;
            self.ignore_if_stored(wanted, fs::remove_file(&path))
                .map_err(content_error("remove", &path))?;
        }
        Ok(())
    }

    /// Ignores an error if the content is in the store: another version with the same content may
    /// have moved it there meanwhile.
    fn ignore_if_stored(&self, wanted: &MissingContent, done: io::Result<()>) -> io::Result<()> {
        let object = self
            .inner
            .content
            .object_path(wanted.sha256, wanted.executable);
        match done {
            Err(_) if object.exists() => Ok(()),
            done => done,
        }
    }

    /// Removes the downloads of a version, because the disk is full. Blocks.
    pub(super) fn stop_waiting(&self, awaited: &AwaitedContents) {
        for path in awaited.0.iter() {
            // The file may not exist yet.
            drop(fs::remove_file(path));
        }
    }

    fn path(&self, wanted: &MissingContent) -> PathBuf {
        let object = self
            .inner
            .content
            .object_path(wanted.sha256, wanted.executable);
        let name = object.file_name().unwrap_or_default();
        self.inner.directory.join(name)
    }

    /// Removes downloads that no version waits for, except the newest within the limits, which may
    /// be resumed. Blocks.
    fn remove_unneeded(&self) -> Result<(), ContentError> {
        let directory = &self.inner.directory;
        let awaited = {
            let mut awaited = lock(&self.inner.awaited);
            awaited.retain(|paths| paths.strong_count() > 0);
            awaited.iter().filter_map(Weak::upgrade).collect::<Vec<_>>()
        };
        let mut left = Vec::new();
        for entry in fs::read_dir(directory).map_err(content_error("read", directory))? {
            let path = entry.map_err(content_error("read", directory))?.path();
            if awaited.iter().any(|paths| paths.contains(&path)) {
                continue;
            }
            match fs::symlink_metadata(&path) {
                Ok(metadata) => left.push((metadata.mtime(), path, metadata)),
                // Moved into the store meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(content_error("read", &path)(source)),
            }
        }
        left.sort_by_key(|(written, ..)| std::cmp::Reverse(*written));
        let (mut bytes, mut files) = (0, 0);
        for (_, path, metadata) in left {
            bytes += metadata.len();
            files += 1;
            let fits = bytes <= FOLLOWER_LEFT_BYTES && files <= FOLLOWER_LEFT_FILES;
            if !fits || !self.is_needed(&path, &metadata) {
                remove(&path, &metadata).map_err(content_error("remove", &path))?;
            }
        }
        Ok(())
    }

    /// True if the store lacks the content and the download is younger than [`FOLLOWER_LEFT`].
    fn is_needed(&self, path: &Path, metadata: &Metadata) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or_default();
        let (hash, executable) = match name.strip_suffix("-x") {
            Some(hash) => (hash, true),
            None => (name, false),
        };
        let is_known = hash
            .parse()
            .is_ok_and(|hash| !self.inner.content.object_path(hash, executable).exists());
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
