//! Many packs of a copy become few: [`GitMirrors::repack`].
//!
//! The rules that must hold: whoever needs the copy does not wait for it, since it ends then; no object goes,
//! whether a branch leads to it or not; and where it is killed, the copy is as before, with files that the
//! next fetch removes.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::copy::GitMirror;
use super::mirror::GitMirrors;
use super::program::GitError;
use crate::defaults::{REPACK_LOOSE, REPACK_PACKS, REPACK_TIMEOUT};

/// Packs are merged until each has twice the objects of the next smaller one; objects in files of their own
/// become part of it, all of them.
const GEOMETRIC: &[&str] = &["--geometric=2", "-d", "-n", "--quiet"];

// === impl GitMirrors ===

impl GitMirrors {
    /// Packs the copies that were used since the start and that need it, one after the other.
    pub async fn repack(&self) {
        let all: Vec<Arc<GitMirror>> = self.all().values().cloned().collect();
        for mirror in all {
            match self.repack_one(&mirror).await {
                Ok(_) => {}
                // It is as it was, only slower.
                Err(error) => tracing::warn!(%error, "cannot pack a copy of a repository"),
            }
        }
    }

    /// `false`: there was nothing to do, or somebody needs the copy.
    async fn repack_one(&self, mirror: &GitMirror) -> Result<bool, GitError> {
        if !needs_packing(mirror.directory()) {
            return Ok(false);
        }
        // Whoever waits for the copy from here on is heard.
        let mut wanted = std::pin::pin!(mirror.wanted.notified());
        wanted.as_mut().enable();
        let Some(_writing) = mirror.try_lock() else {
            return Ok(false);
        };
        let own = mirror.directory();
        tokio::select! {
            packed = self.write(own, "repack", mirror, GEOMETRIC, REPACK_TIMEOUT) => packed.map(|()| true),
            () = wanted => Ok(false),
        }
    }
}

/// As git counts: packs, and objects in one of the 256 directories.
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
