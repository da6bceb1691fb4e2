//! Notification of tasks that wait for a file to grow: [`DirectoryWatcher`], based on inotify.
//!
//! Invariant: one watch per directory, held by a [`DirectoryWatch`] and removed with it; a lost
//! event only causes a delay, because waiting tasks also poll.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

use crate::process::to_async_fd;

#[derive(Debug)]
pub(super) struct DirectoryWatcher {
    inotify: AsyncFd<OwnedFd>,
    watches: Mutex<HashMap<i32, Arc<Notify>>>,
}

/// A watch on one directory.
#[derive(Debug)]
pub(super) struct DirectoryWatch {
    watch: i32,
    changed: Arc<Notify>,
    watcher: Arc<DirectoryWatcher>,
}

impl DirectoryWatcher {
    pub(super) fn start() -> io::Result<Arc<Self>> {
        let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let inotify = to_async_fd(fd)?;
        Ok(Arc::new(Self {
            inotify,
            watches: Mutex::default(),
        }))
    }

    /// Watches the files of a directory.
    pub(super) fn watch(self: &Arc<Self>, directory: &Path) -> io::Result<DirectoryWatch> {
        let watch = inotify::add_watch(self.inotify.get_ref(), directory, WatchFlags::MODIFY)?;
        let changed = Arc::clone(self.watches().entry(watch).or_default());
        Ok(DirectoryWatch {
            watch,
            changed,
            watcher: Arc::clone(self),
        })
    }

    /// Dispatches events until the runtime ends.
    pub(super) async fn run(&self) {
        while let Ok(mut ready) = self.inotify.readable().await {
            let _drained = ready.try_io(|fd| self.drain(fd.get_ref()));
        }
    }

    fn drain(&self, fd: &OwnedFd) -> io::Result<()> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(fd, &mut buffer);
        loop {
            let event = match events.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let watches = self.watches();
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                watches.values().for_each(|changed| changed.notify_one());
            } else if let Some(changed) = watches.get(&event.wd()) {
                changed.notify_one();
            }
        }
    }

    fn watches(&self) -> MutexGuard<'_, HashMap<i32, Arc<Notify>>> {
        // Single inserts and removes: the table is consistent after a panic.
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DirectoryWatch {
    /// Waits until a file of the directory was written since the last call.
    pub(super) async fn wait_for_change(&self) {
        self.changed.notified().await;
    }
}

impl Drop for DirectoryWatch {
    fn drop(&mut self) {
        self.watcher.watches().remove(&self.watch);
        // The directory, and its watch with it, may be gone.
        let _ = inotify::remove_watch(self.watcher.inotify.get_ref(), self.watch);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_write_wakes_the_one_who_waits() {
        let dir = tempfile::tempdir().unwrap();
        let watcher = DirectoryWatcher::start().unwrap();
        let running = tokio::spawn({
            let watcher = Arc::clone(&watcher);
            async move { watcher.run().await }
        });
        let watched = watcher.watch(dir.path()).unwrap();
        std::fs::write(dir.path().join("stdout"), "x").unwrap();
        tokio::time::timeout(Duration::from_secs(20), watched.wait_for_change())
            .await
            .unwrap();
        drop(watched);
        assert!(watcher.watches().is_empty());
        running.abort();
    }
}
