//! The contents of the store, each hashed once. Main type: [`HashedContents`].

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::StoreCheckError;
use crate::content::{ANY_EXECUTE, ContentHash, ContentStore, content_error, hash_object};

/// Contents, as `(hash, executable)`: the intact ones with their size, and the damaged ones.
#[derive(Debug, Default)]
pub(super) struct HashedContents {
    right: HashMap<(ContentHash, bool), u64>,
    damaged: HashSet<(ContentHash, bool)>,
    pub(super) count: usize,
    /// Total size, in bytes.
    pub(super) bytes: u64,
}

// === impl HashedContents ===

impl HashedContents {
    /// Hashes every content.
    pub(super) fn hash_all(
        content: &ContentStore,
        cut: &CancellationToken,
    ) -> Result<Self, StoreCheckError> {
        let mut hashed = Self::default();
        for first in 0..=u8::MAX {
            let directory = content.object_directory(first);
            let entries = match fs::read_dir(&directory) {
                Ok(entries) => entries,
                // Nothing was deployed yet.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(content_error("read", &directory)(error).into()),
            };
            for entry in entries {
                if cut.is_cancelled() {
                    return Err(StoreCheckError::Interrupted);
                }
                let path = entry.map_err(content_error("read", &directory))?.path();
                hashed.add(&path);
            }
        }
        Ok(hashed)
    }

    fn add(&mut self, path: &Path) {
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(object) = name.and_then(parse_object_name) else {
            return;
        };
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            // The content was collected meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(_) => return self.record(object, None),
        };
        let is_executable = metadata.permissions().mode() & ANY_EXECUTE != 0;
        let is_right = metadata.is_file()
            && is_executable == object.1
            && hash_object(path).is_ok_and(|found| found == object.0);
        self.record(object, is_right.then_some(metadata.len()));
        self.bytes += metadata.len();
    }

    fn record(&mut self, object: (ContentHash, bool), right_bytes: Option<u64>) {
        self.count += 1;
        match right_bytes {
            Some(size_bytes) => drop(self.right.insert(object, size_bytes)),
            None => drop(self.damaged.insert(object)),
        }
    }

    /// Returns true if the content was hashed and is intact. A content that was stored afterwards
    /// is hashed now.
    pub(super) fn is_intact(
        &self,
        content: &ContentStore,
        object: (ContentHash, bool),
        size_bytes: u64,
    ) -> bool {
        match self.right.get(&object) {
            Some(found) => *found == size_bytes,
            None if self.damaged.contains(&object) => false,
            None => {
                let path = content.object_path(object.0, object.1);
                hash_object(&path).is_ok_and(|found| found == object.0)
            }
        }
    }

    pub(super) fn damaged_paths(&self, content: &ContentStore) -> Vec<PathBuf> {
        let damaged = self.damaged.iter();
        let mut paths: Vec<PathBuf> = damaged
            .map(|(sha256, executable)| content.object_path(*sha256, *executable))
            .collect();
        paths.sort();
        paths
    }
}

/// Parses the name of a content: its hash, and true if it is executable.
fn parse_object_name(name: &str) -> Option<(ContentHash, bool)> {
    match name.strip_suffix("-x") {
        Some(digits) => Some((digits.parse().ok()?, true)),
        None => Some((name.parse().ok()?, false)),
    }
}
