//! The bucket: [`FileBucket`].
//!
//! Invariant: links are made and removed under one lock, so a content is removed only when no entry
//! needs it.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use pcp::Certname;
use pki::durable;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::defaults::{KEEP, NODE_ENTRIES, NODE_PART, PATHS_BYTES, PRUNE_PAUSE, TOTAL_BYTES};
use crate::error::FileBucketError;
use crate::key::BucketKey;
use crate::receive::{ReceivedContent, receive};

/// Settings of the bucket.
#[derive(Debug, Clone)]
pub struct FileBucketConfig {
    pub directory: PathBuf,
    /// Age after which an entry is removed that was not stored again.
    pub keep: Duration,
    /// Bytes of all contents.
    pub total_bytes: u64,
}

/// The backups of all nodes. Clones share everything.
#[derive(Debug, Clone)]
pub struct FileBucket {
    pub(crate) inner: Arc<BucketState>,
}

#[derive(Debug)]
pub(crate) struct BucketState {
    pub(crate) config: FileBucketConfig,
    /// Bytes of all contents when they were counted last.
    pub(crate) counted: AtomicU64,
    /// Bytes of the contents that were added since that count began.
    pub(crate) added: AtomicU64,
    pub(crate) prune_now: Notify,
    pub(crate) stop: CancellationToken,
    links: Mutex<()>,
    tasks: TaskTracker,
}

/// A file of a node.
#[derive(Debug)]
pub struct BucketFile {
    pub content: File,
    /// Size of the content in bytes, when it was opened.
    pub bytes: u64,
}

/// An entry of a node, by the file of its paths.
#[derive(Debug)]
pub(crate) struct NodeEntry {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// Time at which the node stored it last.
    pub(crate) stored: SystemTime,
}

impl FileBucketConfig {
    /// The default limits for a bucket in `directory`.
    #[must_use]
    pub fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            keep: KEEP,
            total_bytes: TOTAL_BYTES,
        }
    }
}

impl FileBucket {
    /// Opens the bucket, which only the user of this process may read, and starts the removal of old entries.
    /// Must be called within a runtime.
    ///
    /// # Errors
    /// The directory cannot be created.
    pub fn start(config: FileBucketConfig) -> Result<Self, FileBucketError> {
        let incoming = config.directory.join("incoming");
        // parts of files that a crash left
        match fs::remove_dir_all(&incoming) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(FileBucketError::at(incoming)(error));
            }
            _ => {}
        }
        for name in ["contents", "nodes", "incoming"] {
            create_directory(&config.directory.join(name))?;
        }
        let bucket = Self {
            inner: Arc::new(BucketState {
                config,
                counted: AtomicU64::new(0),
                added: AtomicU64::new(0),
                prune_now: Notify::new(),
                stop: CancellationToken::new(),
                links: Mutex::new(()),
                tasks: TaskTracker::new(),
            }),
        };
        bucket.inner.tasks.spawn(prune(bucket.clone()));
        Ok(bucket)
    }

    /// Ends the removal of old entries.
    pub async fn shutdown(&self) {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    /// Stores a file for a node. Blocks on `source` and on the disk.
    ///
    /// # Errors
    /// The file has another hash than `key`, is too large, or cannot be written.
    pub fn store(
        &self,
        certname: &Certname,
        key: &BucketKey,
        source: &mut dyn Read,
    ) -> Result<(), FileBucketError> {
        let inner = &self.inner;
        if inner.bytes() > inner.config.total_bytes {
            inner.prune_now.notify_one();
            return Err(FileBucketError::Full);
        }
        let received = receive(&inner.config.directory.join("incoming"), key, source)?;
        let directory = inner.node_directory(certname);
        let _links = inner.lock_links();
        create_directory(&directory)?;
        let entry = directory.join(key.file_name());
        if !entry.exists() {
            inner.make_room_for_node(&directory, received.bytes)?;
            inner.link(received, &entry)?;
        }
        record_path(&entry, key.path.as_deref())
    }

    /// Opens a file that the node stored; `None` if it did not, or not under the path of the key. Blocks on
    /// the disk.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(
        &self,
        certname: &Certname,
        key: &BucketKey,
    ) -> Result<Option<BucketFile>, FileBucketError> {
        let entry = self.inner.node_directory(certname).join(key.file_name());
        if let Some(path) = &key.path
            && !read_paths(&entry)?.lines().any(|line| line == path)
        {
            return Ok(None);
        }
        match File::open(&entry) {
            Ok(content) => {
                let metadata = content.metadata().map_err(FileBucketError::at(&entry))?;
                let bytes = metadata.len();
                Ok(Some(BucketFile { content, bytes }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileBucketError::at(entry)(error)),
        }
    }
}

impl BucketState {
    fn node_directory(&self, certname: &Certname) -> PathBuf {
        self.config.directory.join("nodes").join(certname.as_str())
    }

    /// Bytes of all contents, or more if some were counted twice.
    pub(crate) fn bytes(&self) -> u64 {
        let added = self.added.load(Ordering::Relaxed);
        self.counted.load(Ordering::Relaxed).saturating_add(added)
    }

    pub(crate) fn lock_links(&self) -> MutexGuard<'_, ()> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the entry a link to the content, which becomes one of the bucket unless it is one.
    fn link(&self, received: ReceivedContent, entry: &Path) -> Result<(), FileBucketError> {
        let ReceivedContent {
            file,
            sha256,
            bytes,
        } = received;
        let directory = self.config.directory.join("contents").join(&sha256[..2]);
        create_directory(&directory)?;
        let content = directory.join(&sha256);
        match fs::hard_link(&content, entry) {
            Ok(()) => return sync_directory(entry),
            Err(error) => match error.kind() {
                // a file system has a limit for links, so there is one more file then
                io::ErrorKind::NotFound | io::ErrorKind::TooManyLinks => {}
                _ => return Err(FileBucketError::at(entry)(error)),
            },
        }
        let persisted = file.persist(&content);
        persisted.map_err(|error| FileBucketError::at(&content)(error.error))?;
        self.added.fetch_add(bytes, Ordering::Relaxed);
        sync_directory(&content)?;
        fs::hard_link(&content, entry).map_err(FileBucketError::at(entry))?;
        sync_directory(entry)
    }

    /// Removes the oldest entries of a node that would have too many, or too many bytes.
    fn make_room_for_node(&self, directory: &Path, bytes: u64) -> Result<(), FileBucketError> {
        let mut entries = node_entries(directory)?;
        entries.sort_unstable_by_key(|entry| entry.stored);
        let limit = self.config.total_bytes / NODE_PART;
        let mut sum = entries.iter().map(|entry| entry.bytes).sum::<u64>() + bytes;
        let mut number = entries.len() + 1;
        for entry in entries {
            if sum <= limit && number <= NODE_ENTRIES {
                break;
            }
            remove_entry(&entry.path)?;
            sum -= entry.bytes;
            number -= 1;
        }
        Ok(())
    }
}

/// Removes old entries now and then, or at once when there are too many bytes.
async fn prune(bucket: FileBucket) {
    let stop = bucket.inner.stop.clone();
    loop {
        let pruned = bucket.clone();
        let pruning = tokio::task::spawn_blocking(move || pruned.prune(SystemTime::now()));
        match pruning.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "old files of the bucket cannot be removed");
            }
            Err(panic) => {
                tracing::error!(%panic, "the removal of old files of the bucket panicked")
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = bucket.inner.prune_now.notified() => {}
            () = tokio::time::sleep(PRUNE_PAUSE) => {}
        }
    }
}

/// The entries in the directory of a node.
pub(crate) fn node_entries(directory: &Path) -> Result<Vec<NodeEntry>, FileBucketError> {
    let io = || FileBucketError::at(directory);
    let mut entries = Vec::new();
    for found in fs::read_dir(directory).map_err(io())? {
        let path = found.map_err(io())?.path();
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        // paths, and files that are being written
        if name.contains(&b'.') {
            continue;
        }
        // an entry that is being removed
        let Ok(metadata) = fs::metadata(&path) else {
            continue;
        };
        let paths = fs::metadata(path.with_extension("paths"));
        let stored = paths.and_then(|it| it.modified());
        entries.push(NodeEntry {
            path,
            bytes: metadata.len(),
            // without paths a crash came between, so it is as old as can be
            stored: stored.unwrap_or(SystemTime::UNIX_EPOCH),
        });
    }
    Ok(entries)
}

/// Removes an entry, its file first: paths alone are no entry.
pub(crate) fn remove_entry(entry: &Path) -> Result<(), FileBucketError> {
    for path in [entry.to_owned(), entry.with_extension("paths")] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(FileBucketError::at(path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Adds a path to those of the entry, and makes the entry a new one.
fn record_path(entry: &Path, path: Option<&str>) -> Result<(), FileBucketError> {
    let mut paths = read_paths(entry)?;
    if let Some(path) = path
        && !paths.lines().any(|line| line == path)
        && paths.len() + path.len() < PATHS_BYTES
    {
        paths.push_str(path);
        paths.push('\n');
    }
    let file = entry.with_extension("paths");
    durable::write_atomic(&file, paths.as_bytes(), 0o600)
        .map_err(|error| FileBucketError::at(file)(error.source))
}

fn read_paths(entry: &Path) -> Result<String, FileBucketError> {
    let file = entry.with_extension("paths");
    match fs::read_to_string(&file) {
        Ok(paths) => Ok(paths),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(FileBucketError::at(file)(error)),
    }
}

fn create_directory(path: &Path) -> Result<(), FileBucketError> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(path).map_err(FileBucketError::at(path))?;
    sync_directory(path)
}

/// Makes the name of `path` durable.
fn sync_directory(path: &Path) -> Result<(), FileBucketError> {
    let parent = path.parent().unwrap_or(path);
    let synced = File::open(parent).and_then(|directory| directory.sync_all());
    synced.map_err(FileBucketError::at(parent))
}
