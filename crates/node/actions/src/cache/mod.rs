//! Cache of task files on the node: [`TaskCache`].
//!
//! The layout is that of pxp-agent: `<task-cache-dir>/<sha256>/<basename>`, mode 0750; the
//! modification time of a directory is the time of its last use. Invariants: a file is in the cache
//! only under the digest of its bytes, and every user compares the digest again while copying (see
//! [`copy_hashed`](crate::process::copy_hashed)); a file that several actions need is fetched once,
//! and different files are fetched concurrently.

mod download;
mod retry;

use std::collections::HashMap;
use std::fs::{DirBuilder, File, FileTimes};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use pxp::action::{FileSpec, Sha256};

pub use download::DownloadConfig;
pub(crate) use download::FileFetchError;

use crate::process::copy_hashed;
use download::FileDownloader;

/// The cache directory and the downloader that fills it.
#[derive(Debug)]
pub(crate) struct TaskCache {
    directory: PathBuf,
    downloader: FileDownloader,
    /// One lock per file that is being looked up or fetched.
    underway: Mutex<HashMap<PathBuf, Weak<tokio::sync::Mutex<()>>>>,
}

/// A file in the cache.
#[derive(Debug, Clone)]
pub(crate) struct CachedFile {
    pub(crate) path: PathBuf,
    pub(crate) sha256: Sha256,
}

impl TaskCache {
    /// Opens the cache; creates its directory if it does not exist.
    pub(crate) fn open(directory: &Path, downloads: DownloadConfig) -> io::Result<Self> {
        make_directory(directory)?;
        Ok(Self {
            directory: directory.canonicalize()?,
            downloader: FileDownloader::new(downloads),
            underway: Mutex::default(),
        })
    }

    /// Returns the file from the cache, from one of the servers that the requester named, or from a
    /// primary server.
    pub(crate) async fn get(
        &self,
        spec: &FileSpec,
        file_servers: &[String],
    ) -> Result<CachedFile, FileFetchError> {
        let directory = self.directory.join(spec.sha256.to_string());
        let path = directory.join(spec.filename.file_name());
        let lock = self.lock_of(&path);
        let _held = lock.lock().await;
        let cached = CachedFile {
            path: path.clone(),
            sha256: spec.sha256,
        };
        if is_cached(path, spec.sha256).await {
            touch(&directory);
            return Ok(cached);
        }
        make_directory(&directory).map_err(|source| FileFetchError::Cache {
            path: directory.clone(),
            source,
        })?;
        self.downloader
            .fetch(spec, file_servers, &directory)
            .await?;
        Ok(cached)
    }

    /// Removes files that were not used for `ttl`. Returns the number of files removed.
    pub(crate) fn purge(&self, ttl: Duration, now: SystemTime) -> io::Result<usize> {
        let mut removed = 0;
        for file in std::fs::read_dir(&self.directory)? {
            let file = file?;
            let used = file.metadata()?.modified()?;
            let unused = now.duration_since(used).unwrap_or_default();
            if file.file_type()?.is_dir() && unused > ttl {
                std::fs::remove_dir_all(file.path())?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn lock_of(&self, path: &Path) -> Arc<tokio::sync::Mutex<()>> {
        let mut underway = self.underway.lock().unwrap_or_else(PoisonError::into_inner);
        underway.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = underway.get(path).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        underway.insert(path.to_owned(), Arc::downgrade(&lock));
        lock
    }
}

fn make_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o750)
        .create(directory)
}

/// True if the file exists and has this digest.
async fn is_cached(path: PathBuf, sha256: Sha256) -> bool {
    let checked =
        tokio::task::spawn_blocking(move || copy_hashed(&mut File::open(path)?, &mut io::sink()));
    matches!(checked.await, Ok(Ok(found)) if found == sha256)
}

fn touch(directory: &Path) {
    let now = FileTimes::new().set_modified(SystemTime::now());
    // If the time cannot be set, the cost is one more download after the purge.
    let _ = File::open(directory).and_then(|directory| directory.set_times(now));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays() {
        let dir = tempfile::tempdir().unwrap();
        let cache = TaskCache::open(dir.path(), DownloadConfig::default()).unwrap();
        let used = dir.path().join("used");
        for name in ["used", "unused"] {
            make_directory(&dir.path().join(name)).unwrap();
            let old = SystemTime::now() - Duration::from_secs(1000);
            File::open(dir.path().join(name))
                .unwrap()
                .set_times(FileTimes::new().set_modified(old))
                .unwrap();
        }
        touch(&used);
        assert_eq!(
            cache
                .purge(Duration::from_secs(500), SystemTime::now())
                .unwrap(),
            1
        );
        assert!(used.exists());
    }
}
