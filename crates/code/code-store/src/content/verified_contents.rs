//! Contents whose bytes were compared with their hashes in this process. Main type:
//! [`VerifiedContents`].
//!
//! Invariant: a content counts as verified as long as its file is the one that was hashed, by
//! inode, size and time of modification. So each content is hashed once per process, which is
//! enough to detect damage from a power cut, and again after its file was written to. The number of
//! remembered contents is bounded.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};

use super::ContentHash;
use crate::defaults::{HASH_CHUNK_BYTES, VERIFIED_CONTENTS};

/// State of each verified file when it was hashed, for at most [`VERIFIED_CONTENTS`].
#[derive(Debug, Default)]
pub(super) struct VerifiedContents {
    files: Mutex<HashMap<(ContentHash, bool), FileState>>,
}

/// Properties of a file that change when it is replaced or written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    inode: u64,
    size_bytes: u64,
    /// Seconds and nanoseconds since 1970.
    modified: (i64, i64),
}

// === impl VerifiedContents ===

impl VerifiedContents {
    /// True if the file has the content that its name states; false also if it cannot be read.
    pub(super) fn verify(
        &self,
        (sha256, executable): (ContentHash, bool),
        path: &Path,
        metadata: &Metadata,
    ) -> bool {
        let state = FileState::from_metadata(metadata);
        if self.files().get(&(sha256, executable)) == Some(&state) {
            return true;
        }
        let is_right = hash_object(path).is_ok_and(|found| found == sha256);
        if is_right {
            let mut files = self.files();
            if files.len() >= VERIFIED_CONTENTS {
                files.clear();
            }
            files.insert((sha256, executable), state);
        }
        is_right
    }

    fn files(&self) -> MutexGuard<'_, HashMap<(ContentHash, bool), FileState>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl FileState ===

impl FileState {
    fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            size_bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// The hash of a file's bytes.
pub(crate) fn hash_object(path: &Path) -> io::Result<ContentHash> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; HASH_CHUNK_BYTES];
    loop {
        match file.read(&mut chunk)? {
            0 => break,
            read => hasher.update(&chunk[..read]),
        }
    }
    let digest: [u8; 32] = hasher.finalize().into();
    Ok(digest.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_verified_contents_is_cleared_when_it_is_full() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("content");
        std::fs::write(&path, "right").unwrap();
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        let right = (ContentHash::of(b"right"), false);
        let verified = VerifiedContents::default();
        let state = FileState::from_metadata(&metadata);
        for number in 0..VERIFIED_CONTENTS - 1 {
            let name = (ContentHash::of(&number.to_le_bytes()), false);
            verified.files().insert(name, state);
        }
        assert!(verified.verify(right, &path, &metadata));
        assert_eq!(verified.files().len(), VERIFIED_CONTENTS);
        // A remembered content takes no further entry.
        assert!(verified.verify(right, &path, &metadata));
        assert_eq!(verified.files().len(), VERIFIED_CONTENTS);
        let also_right = (right.0, true);
        assert!(verified.verify(also_right, &path, &metadata));
        assert_eq!(verified.files().len(), 1);
        // A forgotten content is hashed again, and the damage is found.
        std::fs::write(&path, "wrong").unwrap();
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        assert!(!verified.verify(right, &path, &metadata));
    }
}
