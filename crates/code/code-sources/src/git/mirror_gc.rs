//! Removal of unused copies of repositories: [`GitMirrors::remove_unused`].
//!
//! Beside each copy is a file `<name>.used`: its date is the last use of the copy, its text the
//! repository's address. Invariants: a copy is removed only long after its last use; it is renamed
//! first, so that no task finds a part of it; and never while it is written.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::git_mirror::{GitMirror, directory_name};
use super::git_mirrors::GitMirrors;
use crate::defaults::{KEEP_MIRRORS, MIRROR_NOTED};
use crate::remote_address::strip_credentials;
use code_store::content::{ContentError, content_error};

/// Time at which the use of a copy was last recorded, in seconds since 1970; 0: not by this
/// process.
#[derive(Debug, Default)]
pub(super) struct LastUse(AtomicU64);

/// The unit of `st_blocks`.
const BLOCK_BYTES: u64 = 512;

// === impl GitMirror ===

impl GitMirror {
    /// Records the use of the copy, if that was not done recently. If this fails, the copy is
    /// merely removed earlier.
    pub(super) fn note_use(&self) {
        let now = SystemTime::now();
        let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let noted = self.used.0.load(Ordering::Relaxed);
        if seconds.saturating_sub(noted) < MIRROR_NOTED.as_secs() || !self.directory().is_dir() {
            return;
        }
        self.used.0.store(seconds, Ordering::Relaxed);
        let path = self.directory().with_extension("used");
        if time_since_use(&path).is_none_or(|age| age >= MIRROR_NOTED)
            && let Err(error) = fs::write(&path, self.to_public_url())
        {
            tracing::debug!(path = %path.display(), %error, "cannot note that it is used");
        }
    }
}

// === impl GitMirrors ===

impl GitMirrors {
    /// Removes copies that were not used for [`KEEP_MIRRORS`], except those of these addresses;
    /// returns the number removed. A [`GitMirror`] in memory whose copy was removed creates it
    /// again.
    pub fn remove_unused(&self, needed: &HashSet<String>) -> Result<usize, ContentError> {
        let names: HashSet<String> = needed.iter().map(|it| directory_name(it)).collect();
        let mut gone = 0;
        for path in entries(self.directory())? {
            match path.extension().and_then(|it| it.to_str()) {
                // A leftover of a collection that was killed.
                Some("retired") => remove(&path)?,
                Some("git") => {
                    let name = path.file_name().and_then(|it| it.to_str());
                    if name.is_some_and(|name| !names.contains(name)) && is_unused(&path, needed)? {
                        gone += usize::from(self.retire(&path)?);
                    }
                }
                _ => {}
            }
        }
        Ok(gone)
    }

    /// Removes a copy; `false` if it is being written.
    fn retire(&self, path: &Path) -> Result<bool, ContentError> {
        let retired = path.with_extension("retired");
        {
            // No task can get the copy meanwhile.
            let mirrors = self.all();
            let known = mirrors.values().find(|it| it.directory() == path);
            let locked = known.map(|mirror| mirror.try_lock());
            if let Some(locked) = locked {
                let Some(mut refs) = locked else {
                    return Ok(false);
                };
                *refs = None;
            }
            remove(&path.with_extension("trees"))?;
            remove(&path.with_extension("refs"))?;
            fs::rename(path, &retired).map_err(content_error("remove", path))?;
        }
        remove(&path.with_extension("used"))?;
        remove(&retired)?;
        tracing::info!(path = %path.display(), "an unused copy of a repository is removed");
        Ok(true)
    }

    /// Disk space of all copies in bytes.
    pub fn disk_bytes(&self) -> Result<u64, ContentError> {
        let (mut bytes, mut left) = (0, vec![self.directory().to_owned()]);
        while let Some(directory) = left.pop() {
            for path in entries(&directory)? {
                // Git may remove a file meanwhile.
                let Ok(metadata) = fs::symlink_metadata(&path) else {
                    continue;
                };
                bytes += metadata.blocks() * BLOCK_BYTES;
                if metadata.is_dir() {
                    left.push(path);
                }
            }
        }
        Ok(bytes)
    }
}

/// True if a copy is not needed and was not used for long. Without a record of its use, the time
/// begins now.
fn is_unused(path: &Path, needed: &HashSet<String>) -> Result<bool, ContentError> {
    let note = path.with_extension("used");
    let Some(age) = time_since_use(&note) else {
        fs::write(&note, "").map_err(content_error("write to", &note))?;
        return Ok(false);
    };
    let of = fs::read_to_string(&note).unwrap_or_default();
    // A needed address may contain credentials; the note, which has none, identifies the copy.
    let is_needed = needed.iter().any(|remote| strip_credentials(remote) == of);
    Ok(age > KEEP_MIRRORS && !is_needed)
}

/// Time since a file was written; `None` if it does not exist.
fn time_since_use(path: &Path) -> Option<Duration> {
    let written = fs::metadata(path).ok()?.modified().ok()?;
    // A time in the future counts as now.
    Some(
        SystemTime::now()
            .duration_since(written)
            .unwrap_or_default(),
    )
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, ContentError> {
    let read = match fs::read_dir(directory) {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(content_error("read", directory)(error)),
    };
    let paths = read.map(|entry| entry.map(|entry| entry.path()));
    paths
        .collect::<io::Result<_>>()
        .map_err(content_error("read", directory))
}

fn remove(path: &Path) -> Result<(), ContentError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(content_error("remove", path)(error))
        }
        _ => Ok(()),
    }
}
