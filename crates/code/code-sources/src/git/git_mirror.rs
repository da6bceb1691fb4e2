//! The local copy of one repository: [`GitMirror`].
//!
//! Invariant: a task that writes to the copy holds its lock.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::Digest as _;
use tokio::sync::{MutexGuard, Notify};

use super::mirror_gc::LastUse;
use super::refs::GitRefs;
use crate::remote_address::strip_credentials;

/// The local copy of one repository.
#[derive(Debug)]
pub struct GitMirror {
    pub(super) remote: String,
    pub(super) directory: PathBuf,
    /// Branches and tags of the copy; `None`: not read yet. Locked while the copy is written.
    refs: tokio::sync::Mutex<CachedRefs>,
    /// Notified when a task waits for the copy.
    pub(super) lock_requested: Notify,
    pub(super) used: LastUse,
}

/// Branches and tags of a copy, if known.
pub(super) type CachedRefs = Option<Arc<GitRefs>>;

// === impl GitMirror ===

impl GitMirror {
    pub(super) fn new(remote: &str, below: &Path) -> Self {
        Self {
            remote: remote.to_owned(),
            directory: below.join(directory_name(remote)),
            refs: tokio::sync::Mutex::default(),
            lock_requested: Notify::new(),
            used: LastUse::default(),
        }
    }

    /// The repository's address, without credentials.
    pub fn to_public_url(&self) -> String {
        strip_credentials(&self.remote)
    }

    /// Directory of the copy.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Locks the copy for writing. A running repack stops for it.
    pub async fn lock(&self) -> MutexGuard<'_, CachedRefs> {
        self.lock_requested.notify_waiters();
        self.refs.lock().await
    }

    /// Locks the copy for writing, unless it is locked or another task waits for it.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, CachedRefs>> {
        self.refs.try_lock().ok()
    }
}

/// Returns a unique directory name for an address, which users can recognize.
pub(super) fn directory_name(remote: &str) -> String {
    let digest: [u8; 32] = sha2::Sha256::digest(remote.as_bytes()).into();
    let digest: String = digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let last = remote.trim_end_matches('/').rsplit(['/', ':']).next();
    let last = last.unwrap_or_default().trim_end_matches(".git");
    let safe = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let last: String = last.chars().filter(safe).take(40).collect();
    format!("{last}-{digest}.git")
}
