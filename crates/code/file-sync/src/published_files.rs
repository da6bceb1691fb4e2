//! The versions that followers may fetch, with their contents: [`PublishedFiles`].
//!
//! Invariant: a content that no such version has is not served, even if it is in the store.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use environments::EnvironmentName;

use super::files::{FilesError, manifest};
use code_store::content::{ContentHash, TreeEntry, TreeId};
use code_store::version::{VersionSignature, VersionStore};

type VersionKey = (EnvironmentName, VersionSignature);

/// The files of versions, read at the first request.
#[derive(Debug, Default)]
pub(super) struct PublishedFiles {
    read: Mutex<HashMap<VersionKey, Arc<VersionFiles>>>,
}

/// The list of files of a version, decoded and encoded.
#[derive(Debug)]
pub(super) struct VersionFiles {
    pub(super) id: TreeId,
    pub(super) text: Vec<u8>,
    hashes: HashSet<ContentHash>,
}

// === impl PublishedFiles ===

impl PublishedFiles {
    /// Forgets all other versions.
    pub(super) fn retain(&self, versions: &HashSet<VersionKey>) {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.retain(|version, _| versions.contains(version));
    }

    /// True if a version that was read has this content.
    pub(super) fn has(&self, hash: ContentHash) -> bool {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.values().any(|files| files.hashes.contains(&hash))
    }

    /// Returns the files of a version. Blocks.
    pub(super) fn files(
        &self,
        versions: &VersionStore,
        version: &VersionKey,
    ) -> Result<Arc<VersionFiles>, FilesError> {
        let known = {
            let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            read.get(version).cloned()
        };
        if let Some(files) = known {
            return Ok(files);
        }
        let (environment, signature) = version;
        let (id, manifest) = manifest(versions, environment, signature)?;
        let hashes = manifest.entries().filter_map(|(_, entry)| match entry {
            TreeEntry::File { sha256, .. } => Some(*sha256),
            TreeEntry::Link { .. } => None,
        });
        let files = Arc::new(VersionFiles {
            id,
            hashes: hashes.collect(),
            text: manifest.encode().1,
        });
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.insert(version.clone(), Arc::clone(&files));
        Ok(files)
    }
}
