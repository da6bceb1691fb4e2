//! Disk cache of completion names for a few seconds, since Tab is pressed more than once. Main
//! type: [`NameCache`].
//!
//! Invariant: only the user can read or write it, and it is bounded; on any error there is no
//! cache.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::source::CompletionName;
use crate::defaults::{COMPLETION_CACHE_AGE, COMPLETION_CACHE_BYTES, COMPLETION_CACHE_FILES};

/// A directory of cached name lists.
#[derive(Debug)]
pub(super) struct NameCache {
    directory: PathBuf,
}

// === impl NameCache ===

impl NameCache {
    /// Opens the user's cache; `None` if there is no directory that is private to the user.
    pub(super) fn open_for_user() -> Option<Self> {
        let home = |name: &str| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let caches = home("XDG_CACHE_HOME").or_else(|| Some(home("HOME")?.join(".cache")))?;
        Self::open_at(&caches.join("tutti-completion"))
    }

    /// Opens the cache in a directory, which is created if missing.
    fn open_at(directory: &Path) -> Option<Self> {
        if let Some(parent) = directory.parent() {
            std::fs::create_dir_all(parent).ok()?;
        }
        match std::fs::DirBuilder::new().mode(0o700).create(directory) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return None,
            _ => {}
        }
        let found = std::fs::symlink_metadata(directory).ok()?;
        let is_private = found.is_dir()
            && found.uid() == rustix::process::geteuid().as_raw()
            && found.permissions().mode() & 0o077 == 0;
        is_private.then(|| Self {
            directory: directory.to_owned(),
        })
    }

    /// A cached list that is not too old. An empty list also stands for a server that does not
    /// answer.
    pub(super) fn read(&self, key: &[&str]) -> Option<Vec<CompletionName>> {
        let path = self.path(key);
        if !is_fresh(&path) {
            return None;
        }
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).ok()?;
        file.take(COMPLETION_CACHE_BYTES)
            .read_to_end(&mut bytes)
            .ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Stores a list unless it is too long.
    pub(super) fn write(&self, key: &[&str], names: &[CompletionName]) {
        let Ok(bytes) = serde_json::to_vec(names) else {
            return;
        };
        if bytes.len() as u64 > COMPLETION_CACHE_BYTES {
            return;
        }
        self.evict_lists();
        // Temporary files are readable by their owner only.
        let Ok(mut file) = tempfile::NamedTempFile::new_in(&self.directory) else {
            return;
        };
        if file.write_all(&bytes).is_ok() {
            // A list that cannot be stored is requested again.
            let _ = file.persist(self.path(key));
        }
    }

    /// Removes old lists, and all of them if that is not enough.
    fn evict_lists(&self) {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten();
        let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        let fresh = paths.iter().filter(|path| is_fresh(path)).count();
        for path in &paths {
            if fresh >= COMPLETION_CACHE_FILES || !is_fresh(path) {
                let _ = std::fs::remove_file(path);
            }
        }
    }

    fn path(&self, key: &[&str]) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        self.directory.join(format!("{:016x}", hasher.finish()))
    }
}

fn is_fresh(path: &Path) -> bool {
    let changed = path.symlink_metadata().and_then(|found| found.modified());
    let age = changed
        .ok()
        .and_then(|changed| SystemTime::now().duration_since(changed).ok());
    age.is_some_and(|age| age < COMPLETION_CACHE_AGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<CompletionName> {
        let name = |number| CompletionName {
            value: format!("node{number}"),
            about: String::new(),
        };
        (0..count).map(name).collect()
    }

    #[test]
    fn a_list_is_kept_for_its_user_alone_and_a_long_one_is_not() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("a/cache");
        let cache = NameCache::open_at(&directory).unwrap();
        assert_eq!(cache.read(&["a"]), None);
        cache.write(&["a"], &names(3));
        assert_eq!(cache.read(&["a"]), Some(names(3)));
        assert_eq!(cache.read(&["b"]), None);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&directory), 0o700);
        assert_eq!(mode(&cache.path(&["a"])), 0o600);
        cache.write(&["long"], &names(1_000_000));
        assert_eq!(cache.read(&["long"]), None);
    }

    #[test]
    fn there_are_never_more_lists_than_may_be() {
        let place = tempfile::tempdir().unwrap();
        let cache = NameCache::open_at(&place.path().join("cache")).unwrap();
        for number in 0..COMPLETION_CACHE_FILES * 2 {
            cache.write(&[&number.to_string()], &names(1));
        }
        let files = std::fs::read_dir(&cache.directory).unwrap().count();
        assert!(files <= COMPLETION_CACHE_FILES, "{files}");
    }

    #[test]
    fn a_directory_that_others_can_read_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let open = place.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(NameCache::open_at(&open).is_none());
        std::os::unix::fs::symlink(place.path(), place.path().join("link")).unwrap();
        assert!(NameCache::open_at(&place.path().join("link")).is_none());
    }
}
