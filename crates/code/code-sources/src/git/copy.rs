//! Our copy of one repository: [`GitMirror`].
//!
//! The rule that must hold: who writes to it holds its lock.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::Digest as _;
use tokio::sync::{MutexGuard, Notify};

use super::refs::Refs;
use super::unused::LastUse;
use crate::remote_address::without_credentials;

/// The copy of one repository.
#[derive(Debug)]
pub struct GitMirror {
    pub(super) remote: String,
    pub(super) directory: PathBuf,
    /// What the copy has; `None`: it was not looked at yet. Held while it is written to.
    refs: tokio::sync::Mutex<Known>,
    /// Somebody waits for the copy.
    pub(super) wanted: Notify,
    pub(super) used: LastUse,
}

/// What a copy has, if that is known.
pub(super) type Known = Option<Arc<Refs>>;

// === impl GitMirror ===

impl GitMirror {
    pub(super) fn new(remote: &str, below: &Path) -> Self {
        Self {
            remote: remote.to_owned(),
            directory: below.join(directory_name(remote)),
            refs: tokio::sync::Mutex::default(),
            wanted: Notify::new(),
            used: LastUse::default(),
        }
    }

    /// The repository's address, without credentials.
    pub fn shown(&self) -> String {
        without_credentials(&self.remote)
    }

    /// Where the copy is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Nobody else writes to the copy then. Who only packs it gives way.
    pub async fn lock(&self) -> MutexGuard<'_, Known> {
        self.wanted.notify_waiters();
        self.refs.lock().await
    }

    /// The same, unless somebody writes to it or waits to do so.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, Known>> {
        self.refs.try_lock().ok()
    }
}

/// A name that no other address has, for people to find too.
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
