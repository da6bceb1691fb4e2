//! Detection of changed files: [`FileWatch`]. The kernel reports changes in the files' directories
//! (inotify), so an idle server does nothing; if the kernel cannot, the files are compared twice a
//! second.
//!
//! Directories are watched instead of files, because files are replaced by rename: both the
//! directory of the name and that of the file behind a symbolic link.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::unix::AsyncFd;

use crate::defaults::{POLL_INTERVAL, RECHECK_INTERVAL, RELOAD_SETTLE};

/// A set of files whose changes can be awaited.
#[derive(Debug)]
pub(super) struct FileWatch {
    paths: Vec<PathBuf>,
    seen: Vec<FileStamp>,
    events: Option<AsyncFd<OwnedFd>>,
}

/// The metadata that distinguishes one version of a file from another; `None` if the file does not
/// exist.
type FileStamp = Option<(u64, u64, i64, i64, i64, i64, u64)>;

impl FileWatch {
    /// Starts with the current state of the files. Must be called within a tokio runtime.
    pub(super) fn new(paths: Vec<PathBuf>) -> Self {
        let events = directory_events(&paths);
        let seen = stamps(&paths);
        Self {
            paths,
            seen,
            events,
        }
    }

    /// Returns when a file changed since the last return (or since the start) and has been
    /// unchanged for a moment since.
    pub(super) async fn wait_changed(&mut self) {
        loop {
            self.wait().await;
            if stamps(&self.paths) == self.seen {
                continue;
            }
            self.settle().await;
            // Links may have new targets now. Watching starts before the stamps are taken, so that
            // no change is missed.
            self.events = directory_events(&self.paths);
            self.seen = stamps(&self.paths);
            return;
        }
    }

    /// Waits for an event that indicates a possible change.
    async fn wait(&self) {
        match &self.events {
            Some(events) => {
                let recheck = tokio::time::sleep(RECHECK_INTERVAL);
                tokio::select! {
                    () = drain(events) => {}
                    () = recheck => {}
                }
            }
            None => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }

    /// Waits until the files stop changing, at most four rounds.
    async fn settle(&self) {
        let mut before = stamps(&self.paths);
        for _ in 0..4 {
            tokio::time::sleep(RELOAD_SETTLE).await;
            let now = stamps(&self.paths);
            if now == before {
                return;
            }
            before = now;
        }
    }
}

fn stamps(paths: &[PathBuf]) -> Vec<FileStamp> {
    paths.iter().map(|path| stamp(path)).collect()
}

fn stamp(path: &Path) -> FileStamp {
    let meta = std::fs::metadata(path).ok()?;
    Some((
        meta.dev(),
        meta.ino(),
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec(),
        meta.size(),
    ))
}

fn directory_events(paths: &[PathBuf]) -> Option<AsyncFd<OwnedFd>> {
    let watched = || -> std::io::Result<AsyncFd<OwnedFd>> {
        let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let flags = WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE;
        for directory in directories(paths) {
            inotify::add_watch(&fd, directory.as_path(), flags)?;
        }
        register(fd)
    };
    watched()
        .inspect_err(|error| {
            let every: Duration = POLL_INTERVAL;
            tracing::warn!(%error, ?every, "the kernel does not report file changes; comparing");
        })
        .ok()
}

#[expect(
    deprecated,
    reason = "the replacement is unsafe; an OwnedFd keeps what it asks for"
)]
fn register(fd: OwnedFd) -> std::io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(fd)
}

fn directories(paths: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut directories = BTreeSet::new();
    for path in paths {
        let real = path.canonicalize().ok();
        for name in [Some(path.clone()), real].into_iter().flatten() {
            match name.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => {
                    directories.insert(parent.to_owned());
                }
                _ => {
                    directories.insert(PathBuf::from("."));
                }
            }
        }
    }
    directories
}

/// Waits for events and discards them all; their content does not matter.
async fn drain(events: &AsyncFd<OwnedFd>) {
    let Ok(mut ready) = events.readable().await else {
        // The reactor is shutting down; the recheck timer decides instead.
        return std::future::pending().await;
    };
    let mut buffer = [MaybeUninit::uninit(); 2048];
    let mut reader = inotify::Reader::new(events.get_ref(), &mut buffer);
    while reader.next().is_ok() {}
    ready.clear_ready();
}
