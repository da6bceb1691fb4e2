//! Merging of a copy's packs into few: [`GitMirrors::repack`].
//!
//! Invariants: a task that needs the copy does not wait for packing, which stops then; no object is
//! removed, with or without a branch that leads to it; and if packing is killed, the copy is
//! unchanged, except for files that the next fetch removes.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use code_store::disk_work::on_disk;

use super::git_mirror::GitMirror;
use super::git_mirrors::GitMirrors;
use super::program::GitError;
use crate::defaults::{REPACK_LOOSE, REPACK_PACKS, REPACK_TIMEOUT};

/// Packs are merged until each has twice the objects of the next smaller one; all loose objects are
/// added.
const GEOMETRIC: &[&str] = &["--geometric=2", "-d", "-n", "--quiet"];

// === impl GitMirrors ===

impl GitMirrors {
    /// Packs the copies that were used since the start and that need it, one after the other.
    pub async fn repack(&self) {
        let all: Vec<Arc<GitMirror>> = self.all().values().cloned().collect();
        for mirror in all {
            match self.repack_one(&mirror).await {
                Ok(_) => {}
                // The copy is unchanged, only slower.
                Err(error) => tracing::warn!(%error, "cannot pack a copy of a repository"),
            }
        }
    }

    /// Packs one copy; `false` if it needed no packing, or if another task needs the copy.
    async fn repack_one(&self, mirror: &GitMirror) -> Result<bool, GitError> {
        if !on_disk(|| needs_packing(mirror.directory())) {
            return Ok(false);
        }
        // From here on, a task that waits for the copy is noticed.
        let mut wanted = std::pin::pin!(mirror.lock_requested.notified());
        wanted.as_mut().enable();
        let Some(_writing) = mirror.try_lock() else {
            return Ok(false);
        };
        let own = mirror.directory();
        tokio::select! {
            packed = self.write_repository_files(own, "repack", mirror, GEOMETRIC, REPACK_TIMEOUT) => packed.map(|()| true),
            () = wanted => Ok(false),
        }
    }
}

/// True if a copy has many packs, or, as git estimates it, many objects in one of the 256
/// directories.
fn needs_packing(copy: &Path) -> bool {
    let objects = copy.join("objects");
    let count = |directory: &Path, ends: &str| {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let names = entries.filter_map(|it| it.file_name().into_string().ok());
        names.filter(|name| name.ends_with(ends)).count()
    };
    count(&objects.join("pack"), ".pack") >= REPACK_PACKS
        || count(&objects.join("17"), "") * 256 >= REPACK_LOOSE
}
