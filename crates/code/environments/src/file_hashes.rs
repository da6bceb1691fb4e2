//! Hashes of files, cached until the files change.
//!
//! [`FileHashCache::hash_file`] uses a cached hash only if path, inode, size and both timestamps
//! are the same.
//!
//! Invariant: a returned hash is of content that the file had during the call.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use pxp::action::Sha256;
use sha2::Digest;

use crate::CodeError;
use crate::defaults::{COPY_BYTES, FILE_BYTES, HASH_ATTEMPTS, HASH_SETTLED, HASHES};

/// The metadata that distinguishes one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HashedFileStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The cache of hashes.
#[derive(Debug, Default)]
pub(crate) struct FileHashCache {
    cache: Mutex<HashMap<PathBuf, (HashedFileStamp, Sha256)>>,
}

/// A file's hash and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHash {
    pub(crate) sha256: Sha256,
    pub(crate) size_bytes: u64,
}

impl FileHashCache {
    /// The hash of an open file, which is positioned at its beginning afterwards.
    pub(crate) fn hash_file(&self, path: &Path, file: &mut File) -> Result<FileHash, CodeError> {
        let io = |source| CodeError::io(path, source);
        for _ in 0..HASH_ATTEMPTS {
            let before = HashedFileStamp::from_metadata(&file.metadata().map_err(io)?);
            if before.size > FILE_BYTES {
                let problem = format!("it has {} bytes; the limit is {FILE_BYTES}", before.size);
                return Err(CodeError::refuse(path, problem));
            }
            if let Some(sha256) = self.cached_hash(path, before) {
                return Ok(FileHash {
                    sha256,
                    size_bytes: before.size,
                });
            }
            let (sha256, size_bytes) = digest(file).map_err(io)?;
            file.rewind().map_err(io)?;
            if HashedFileStamp::from_metadata(&file.metadata().map_err(io)?) == before
                && size_bytes == before.size
            {
                self.cache_hash(path, before, sha256);
                return Ok(FileHash { sha256, size_bytes });
            }
        }
        Err(CodeError::Changing {
            path: path.to_owned(),
        })
    }

    fn cached_hash(&self, path: &Path, stamp: HashedFileStamp) -> Option<Sha256> {
        let known = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .get(path)
            .filter(|(then, _)| *then == stamp)
            .map(|(_, sha256)| *sha256)
    }

    fn cache_hash(&self, path: &Path, stamp: HashedFileStamp, sha256: Sha256) {
        if !stamp.is_settled() {
            return;
        }
        let mut known = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= HASHES {
            known.clear();
        }
        known.insert(path.to_owned(), (stamp, sha256));
    }
}

fn digest(file: &mut File) -> std::io::Result<(Sha256, u64)> {
    let mut hasher = sha2::Sha256::new();
    let mut buffer = vec![0; COPY_BYTES];
    let mut size_bytes = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => {
                return Ok((
                    Sha256::from(<[u8; 32]>::from(hasher.finalize())),
                    size_bytes,
                ));
            }
            read => {
                hasher.update(&buffer[..read]);
                size_bytes += read as u64;
            }
        }
    }
}

impl HashedFileStamp {
    fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    fn is_settled(&self) -> bool {
        let seconds = Duration::from_secs(self.changed.0.unsigned_abs());
        let age = SystemTime::UNIX_EPOCH
            .checked_add(seconds)
            .and_then(|changed| SystemTime::now().duration_since(changed).ok());
        age.is_some_and(|age| age >= HASH_SETTLED)
    }
}
