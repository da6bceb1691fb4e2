//! Files that an environment uses although they do not belong to its version: [`OutsideFiles`].
//!
//! Modules of `$basemodulepath`, the global `hiera.yaml` with its data, and files that code reads by
//! absolute paths change without a deployment. Invariant: a file that was read from outside is known with
//! the state that it had before it was read.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::defaults::{MANIFEST_DEPTH_MAX, OUTSIDE_FILES_MAX};

/// The state of a file: device, inode, size, and time of the last change with its nanoseconds.
pub type OutsideFileState = (u64, u64, u64, i64, i64);

/// States of files by path; `None` for those that do not exist.
pub type OutsideFileStates = BTreeMap<PathBuf, Option<OutsideFileState>>;

/// The files that compilations of one open environment read from outside of it.
#[derive(Debug, Default)]
pub struct OutsideFiles {
    /// Directory of the version; its links are resolved.
    root: PathBuf,
    states: Mutex<OutsideFileStates>,
}

impl OutsideFiles {
    /// All files of the directories of modules that are outside of the environment in `root`, and the
    /// global configuration of Hiera. Nothing was read yet.
    pub(crate) fn new(root: &Path, directories: &[PathBuf], hiera_config: &Path) -> Arc<Self> {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let mut states = OutsideFileStates::new();
        for directory in directories {
            let real = directory.canonicalize();
            if !real.as_ref().unwrap_or(directory).starts_with(&root) {
                add_all(&mut states, directory, 0);
            }
        }
        states.insert(hiera_config.to_owned(), state(hiera_config));
        Arc::new(Self {
            root,
            states: Mutex::new(states),
        })
    }

    /// Notes a file before it is read. `path` is its real path, or the path that does not exist.
    pub(super) fn note(&self, path: &Path) {
        if path.starts_with(&self.root) {
            return;
        }
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        if states.len() <= OUTSIDE_FILES_MAX && !states.contains_key(path) {
            states.insert(path.to_owned(), state(path));
        }
    }

    /// The states of all files before they were read; `None` if there are too many to be compared.
    #[must_use]
    pub fn states(&self) -> Option<OutsideFileStates> {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        (states.len() <= OUTSIDE_FILES_MAX).then(|| states.clone())
    }
}

/// True if all files have the same states now.
#[must_use]
pub fn are_unchanged(states: &OutsideFileStates) -> bool {
    states.iter().all(|(path, known)| state(path) == *known)
}

/// Adds a directory with all below it, as far as there is room. A directory changes when an entry is added
/// or removed, so its own state stands for that.
fn add_all(states: &mut OutsideFileStates, path: &Path, depth: usize) {
    if depth > MANIFEST_DEPTH_MAX || states.len() > OUTSIDE_FILES_MAX {
        return;
    }
    states.insert(path.to_owned(), state(path));
    let entries = std::fs::read_dir(path).into_iter().flatten();
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        match path.is_dir() {
            true => add_all(states, &path, depth + 1),
            false => drop(states.insert(path.clone(), state(&path))),
        }
    }
}

fn state(path: &Path) -> Option<OutsideFileState> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((
        metadata.dev(),
        metadata.ino(),
        metadata.size(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{OutsideFiles, are_unchanged};

    #[test]
    fn every_change_outside_is_noticed_and_none_inside() {
        let directory = tempfile::tempdir().unwrap();
        let path = |below: &str| directory.path().join(below);
        for below in ["version/modules", "base/ntp/manifests"] {
            fs::create_dir_all(path(below)).unwrap();
        }
        fs::write(path("base/ntp/manifests/init.pp"), "class ntp {}").unwrap();
        fs::write(path("secret"), "a").unwrap();
        let modules = [path("version/modules"), path("base")];
        let states = || {
            let files = OutsideFiles::new(&path("version"), &modules, &path("hiera.yaml"));
            files.note(&path("version/inside"));
            files.note(&path("secret"));
            files.note(&path("absent"));
            files.states().unwrap()
        };
        for (changed, content) in [
            ("hiera.yaml", "version: 5"),
            ("secret", "bb"),
            ("absent", "now here"),
            ("base/ntp/manifests/init.pp", "class ntp { }"),
            ("base/ntp/manifests/new.pp", "class ntp::new {}"),
        ] {
            let before = states();
            assert!(are_unchanged(&before), "{changed}");
            fs::write(path(changed), content).unwrap();
            assert!(!are_unchanged(&before), "{changed}");
        }
        let before = states();
        fs::write(path("version/inside"), "x").unwrap();
        assert!(are_unchanged(&before));
        fs::create_dir(path("base/apache")).unwrap();
        assert!(!are_unchanged(&before));
    }
}
