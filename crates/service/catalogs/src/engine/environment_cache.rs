//! Environments that are ready to compile, one for each code version: [`EnvironmentCache`].
//!
//! Invariants: a version is opened once while it is used and nothing outside of it changes, so all its
//! compilations share what was read; an environment without versions is opened for each request, because its files may change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use compiler::{ApplicationGraph, CompilerEnvironment};
use environments::EnvironmentName;
use ruby_workers::RubyEnvironment;
use tokio::sync::OnceCell;

use crate::environment::{ApplicationDefinition, EnvironmentListing, OutsideFiles};

/// An open environment. Its version's directory is in use as long as this exists.
#[derive(Debug)]
pub struct OpenEnvironment {
    pub environment: EnvironmentName,
    /// Code id of the version; `None` if the files may change at any time.
    pub code_id: Option<String>,
    pub(super) directory: PathBuf,
    pub compiler: CompilerEnvironment,
    /// The environment as Ruby workers know it.
    pub(super) ruby_environment: RubyEnvironment,
    /// Files outside of the version that compilations read.
    pub outside_files: Arc<OutsideFiles>,
    /// The classes of the manifests, once they were requested.
    pub(super) classes: OnceCell<Arc<EnvironmentListing>>,
    /// The transports of the modules, once they were requested.
    pub(super) transports: OnceCell<Arc<EnvironmentListing>>,
    /// The applications of the manifests, once they were requested.
    pub(super) applications: OnceCell<Arc<[ApplicationDefinition]>>,
    /// The graph of the applications, once it was requested.
    pub(super) graph: OnceCell<Arc<ApplicationGraph>>,
}

impl OpenEnvironment {
    /// True if the directory is still there. A version is removed by renaming its directory, so an
    /// environment that is present now was complete until now.
    pub(super) fn is_present(&self) -> bool {
        self.directory.is_dir()
    }
}

/// The environments that were used last.
#[derive(Debug)]
pub(super) struct EnvironmentCache {
    /// The most recently used one comes last.
    open: Mutex<Vec<Arc<OpenEnvironment>>>,
    versions_max: usize,
}

impl EnvironmentCache {
    pub(super) fn new(versions_max: usize) -> Self {
        Self {
            open: Mutex::default(),
            versions_max,
        }
    }

    /// The environment of a version, if it is open.
    pub(super) fn get(&self, directory: &Path) -> Option<Arc<OpenEnvironment>> {
        let found = take(&mut self.lock(), directory)?;
        // without the lock, because files are examined
        if found.outside_files.are_current() {
            return Some(found);
        }
        self.lock().retain(|open| !Arc::ptr_eq(open, &found));
        None
    }

    /// Keeps an environment, and returns the one to use: another thread may have opened the same.
    pub(super) fn insert(&self, opened: OpenEnvironment) -> Arc<OpenEnvironment> {
        if opened.code_id.is_none() {
            return Arc::new(opened);
        }
        let mut open = self.lock();
        if let Some(known) = take(&mut open, &opened.directory) {
            return known;
        }
        let opened = Arc::new(opened);
        open.retain(|it| it.is_present());
        if open.len() >= self.versions_max {
            // One in use stays if possible, so that garbage collection knows of it.
            let unused = open.iter().position(|it| !is_used(it));
            open.remove(unused.unwrap_or(0));
        }
        open.push(Arc::clone(&opened));
        opened
    }

    /// Versions that compilations use now, as environment and code id.
    pub(super) fn versions_in_use(&self) -> Vec<String> {
        let open = self.lock();
        let used = open.iter().filter(|it| is_used(it));
        used.filter_map(|it| it.code_id.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<OpenEnvironment>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The environment of a version, which becomes the most recently used one.
fn take(open: &mut Vec<Arc<OpenEnvironment>>, directory: &Path) -> Option<Arc<OpenEnvironment>> {
    let index = open.iter().position(|it| it.directory == directory)?;
    let found = open.remove(index);
    open.push(Arc::clone(&found));
    Some(found)
}

/// True if a compilation uses the environment; the list itself is one owner.
fn is_used(open: &Arc<OpenEnvironment>) -> bool {
    Arc::strong_count(open) > 1
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use tokio::sync::OnceCell;

    use super::{EnvironmentCache, OpenEnvironment};
    use crate::environment::{CompilerOptions, EnvironmentOnDisk};

    fn environment(directory: &Path, code_id: Option<&str>) -> OpenEnvironment {
        let on_disk = EnvironmentOnDisk {
            name: "production".to_owned(),
            root: directory.to_owned(),
            modulepath: Vec::new(),
            hiera_config: directory.join("hiera.yaml"),
        };
        OpenEnvironment {
            environment: "production".parse().unwrap(),
            code_id: code_id.map(str::to_owned),
            directory: directory.to_owned(),
            ruby_environment: on_disk.ruby_environment(String::new()),
            compiler: on_disk.into_compiler(CompilerOptions::default()),
            outside_files: Arc::default(),
            classes: OnceCell::new(),
            transports: OnceCell::new(),
            applications: OnceCell::new(),
            graph: OnceCell::new(),
        }
    }

    #[test]
    fn the_least_recently_used_version_is_closed() {
        let root = tempfile::tempdir().unwrap();
        let cache = EnvironmentCache::new(2);
        let paths = ["a", "b", "c"].map(|name| root.path().join(name));
        for path in &paths {
            std::fs::create_dir(path).unwrap();
        }
        let a = cache.insert(environment(&paths[0], Some("a")));
        cache.insert(environment(&paths[1], Some("b")));
        assert!(Arc::ptr_eq(&a, &cache.get(&paths[0]).unwrap()));
        assert!(Arc::ptr_eq(
            &a,
            &cache.insert(environment(&paths[0], Some("a")))
        ));
        cache.insert(environment(&paths[2], Some("c")));
        assert!(cache.get(&paths[1]).is_none());
        assert_eq!(cache.versions_in_use(), ["a"]);
        drop(a);
        assert!(cache.versions_in_use().is_empty());
    }

    #[test]
    fn a_version_in_use_stays_known_to_garbage_collection() {
        let root = tempfile::tempdir().unwrap();
        let cache = EnvironmentCache::new(2);
        let open = |name: &str| {
            let path = root.path().join(name);
            std::fs::create_dir(&path).unwrap();
            cache.insert(environment(&path, Some(name)))
        };
        let _a = open("a");
        drop(open("b"));
        drop(open("c"));
        assert_eq!(cache.versions_in_use(), ["a"]);
        assert!(cache.get(&root.path().join("b")).is_none());
    }

    #[test]
    fn directories_that_change_and_versions_that_were_removed_are_not_kept() {
        let root = tempfile::tempdir().unwrap();
        let cache = EnvironmentCache::new(4);
        cache.insert(environment(root.path(), None));
        assert!(cache.get(root.path()).is_none());
        let removed = root.path().join("removed");
        std::fs::create_dir(&removed).unwrap();
        let opened = cache.insert(environment(&removed, Some("a")));
        std::fs::remove_dir(&removed).unwrap();
        assert!(!opened.is_present());
        cache.insert(environment(root.path(), Some("b")));
        assert!(cache.get(&removed).is_none());
    }
}
