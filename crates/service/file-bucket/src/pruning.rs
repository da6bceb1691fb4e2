//! Removal of old entries, and of contents that no entry names: [`FileBucket::prune`].

use std::collections::BinaryHeap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use crate::bucket::{FileBucket, node_entries, remove_entry};
use crate::defaults::{PRUNE_ENTRIES, PRUNE_TO_PERCENT};
use crate::error::FileBucketError;

impl FileBucket {
    /// Removes entries that are too old at `now`, and then the oldest ones until the contents have fewer bytes
    /// than the limit. Blocks on the disk.
    pub(crate) fn prune(&self, now: SystemTime) -> Result<(), FileBucketError> {
        let oldest = self.remove_old(now)?;
        let bytes = self.remove_unused()?;
        let total = self.inner.config.total_bytes;
        if bytes > total {
            tracing::warn!(
                bytes,
                total,
                "the bucket is full; its oldest files are removed"
            );
            let excess = bytes - total / 100 * PRUNE_TO_PERCENT;
            self.remove_oldest(oldest, excess)?;
            self.remove_unused()?;
        }
        Ok(())
    }

    /// Removes entries that are too old, and returns the oldest of the others, the oldest last.
    fn remove_old(&self, now: SystemTime) -> Result<Vec<(SystemTime, PathBuf)>, FileBucketError> {
        let before = now.checked_sub(self.inner.config.keep);
        let mut oldest: BinaryHeap<(SystemTime, PathBuf)> = BinaryHeap::new();
        for node in directories(&self.inner.config.directory.join("nodes"))? {
            if self.inner.stop.is_cancelled() {
                break;
            }
            let _links = self.inner.lock_links();
            for entry in node_entries(&node)? {
                match before.is_some_and(|before| entry.stored < before) {
                    true => remove_entry(&entry.path)?,
                    false => oldest.push((entry.stored, entry.path)),
                }
                if oldest.len() > PRUNE_ENTRIES {
                    oldest.pop();
                }
            }
            // only if it is empty
            let _ = fs::remove_dir(&node);
        }
        let mut oldest = oldest.into_sorted_vec();
        oldest.reverse();
        Ok(oldest)
    }

    /// Removes the oldest entries until contents of so many bytes may be unused.
    fn remove_oldest(
        &self,
        mut oldest: Vec<(SystemTime, PathBuf)>,
        excess: u64,
    ) -> Result<(), FileBucketError> {
        let mut freed = 0;
        while freed < excess
            && let Some((_, entry)) = oldest.pop()
        {
            let _links = self.inner.lock_links();
            let Ok(metadata) = fs::metadata(&entry) else {
                continue;
            };
            remove_entry(&entry)?;
            // the last entry of a content has the content's own link beside it
            if metadata.nlink() <= 2 {
                freed += metadata.len();
            }
        }
        Ok(())
    }

    /// Removes contents that no entry names, and returns the bytes of the others.
    fn remove_unused(&self) -> Result<u64, FileBucketError> {
        let mut bytes = 0;
        self.inner.added.store(0, Ordering::Relaxed);
        for directory in directories(&self.inner.config.directory.join("contents"))? {
            if self.inner.stop.is_cancelled() {
                return Ok(0);
            }
            let _links = self.inner.lock_links();
            for content in fs::read_dir(&directory).map_err(FileBucketError::at(&directory))? {
                let path = content.map_err(FileBucketError::at(&directory))?.path();
                let metadata = fs::metadata(&path).map_err(FileBucketError::at(&path))?;
                match metadata.nlink() {
                    0 | 1 => fs::remove_file(&path).map_err(FileBucketError::at(&path))?,
                    _ => bytes += metadata.len(),
                }
            }
        }
        self.inner.counted.store(bytes, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// The directories in a directory.
fn directories(directory: &Path) -> Result<Vec<PathBuf>, FileBucketError> {
    let io = || FileBucketError::at(directory);
    let entries = fs::read_dir(directory).map_err(io())?;
    let entries = entries.map(|entry| entry.map(|entry| entry.path()).map_err(io()));
    entries.collect()
}
