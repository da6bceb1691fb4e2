//! Files that an environment uses although they do not belong to its version: [`OutsideFiles`].
//!
//! Modules of `$basemodulepath`, the global `hiera.yaml` with its data, and files that code reads by
//! absolute paths change without a deployment. Invariant: a file that was read from outside is known with
//! the state that it had before it was read, unless it belongs to the server's own modules.

use std::collections::{BTreeMap, HashSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use crate::defaults::{MANIFEST_DEPTH_MAX, OUTSIDE_FILE_SETTLED, OUTSIDE_FILES_MAX};

/// The state of a file: device, inode, size, and time of the last change with its nanoseconds.
pub type OutsideFileState = (u64, u64, u64, i64, i64);

/// States of files by path; `None` for those that do not exist.
pub type OutsideFileStates = BTreeMap<PathBuf, Option<OutsideFileState>>;

/// The files that compilations of one open environment read from outside of it.
#[derive(Debug, Default)]
pub struct OutsideFiles {
    /// Directories whose files are not noted, with their links resolved: that of the version, and those whose
    /// files do not change while the server runs.
    unnoted: Vec<PathBuf>,
    noted: Mutex<NotedFiles>,
}

#[derive(Debug, Default)]
struct NotedFiles {
    /// Shared with those who compare them, so that none copies them for each request.
    states: Arc<OutsideFileStates>,
    /// Paths that are below an unnoted directory after their links are resolved.
    inside: HashSet<PathBuf>,
    /// True if a file had changed so recently that a further change may leave its state as it is.
    has_unsettled: bool,
}

impl OutsideFiles {
    /// All files of the directories of modules that are outside of the environment in `root`, and the
    /// global configuration of Hiera. Nothing was read yet. The files below `fixed` do not change while the
    /// server runs.
    pub(crate) fn new(
        root: &Path,
        (directories, fixed): (&[PathBuf], &[PathBuf]),
        hiera_config: &Path,
    ) -> Arc<Self> {
        let unnoted = [root].into_iter().chain(fixed.iter().map(PathBuf::as_path));
        let real = |path: &Path| real_path(path).unwrap_or_else(|| path.to_owned());
        let unnoted: Vec<PathBuf> = unnoted.map(real).collect();
        let mut noted = NotedFiles::default();
        for directory in directories {
            if !is_really_below(&unnoted, directory) {
                noted.add_all(directory, 0);
            }
        }
        noted.add(hiera_config);
        if noted.states.len() > OUTSIDE_FILES_MAX {
            tracing::warn!(
                root = %root.display(),
                "the shared modules of an environment have more than {OUTSIDE_FILES_MAX} files: changes of them \
                 are noticed when another version is deployed, and catalogs are compiled for each request; move \
                 them into the control repository"
            );
        }
        Arc::new(Self {
            unnoted,
            noted: Mutex::new(noted),
        })
    }

    /// Notes a file before it is read. `path` is its real path, or a path that does not exist.
    pub(super) fn note(&self, path: &Path) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if is_below(&self.unnoted, path) && noted.is_inside(&self.unnoted, path) {
            return;
        }
        if noted.states.len() <= OUTSIDE_FILES_MAX && !noted.states.contains_key(path) {
            noted.add(path);
        }
    }

    /// True if what was read is what the files have now, as far as there are not too many to be compared.
    pub(crate) fn are_current(&self) -> bool {
        match self.states() {
            Some(states) => are_unchanged(&states),
            None => {
                let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
                noted.states.len() > OUTSIDE_FILES_MAX
            }
        }
    }

    /// The states of all files before they were read; `None` if they cannot be compared: there are too
    /// many, or one had just changed.
    #[must_use]
    pub fn states(&self) -> Option<Arc<OutsideFileStates>> {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let is_comparable = noted.states.len() <= OUTSIDE_FILES_MAX && !noted.has_unsettled;
        is_comparable.then(|| Arc::clone(&noted.states))
    }
}

impl NotedFiles {
    /// True if a path that begins with an unnoted directory does not lead out of it by a link or `..`. What is
    /// inside does not change.
    fn is_inside(&mut self, unnoted: &[PathBuf], path: &Path) -> bool {
        if self.inside.contains(path) {
            return true;
        }
        let is_inside = is_really_below(unnoted, path);
        if is_inside && self.inside.len() <= OUTSIDE_FILES_MAX {
            self.inside.insert(path.to_owned());
        }
        is_inside
    }

    fn add(&mut self, path: &Path) {
        let state = state(path);
        self.has_unsettled |= state.is_some_and(|state| !is_settled(state));
        Arc::make_mut(&mut self.states).insert(path.to_owned(), state);
    }

    /// Adds a directory with all below it, as far as there is room. A directory changes when an entry is
    /// added or removed, so its own state stands for that.
    fn add_all(&mut self, path: &Path, depth: usize) {
        if depth > MANIFEST_DEPTH_MAX || self.states.len() > OUTSIDE_FILES_MAX {
            return;
        }
        self.add(path);
        let entries = std::fs::read_dir(path).into_iter().flatten();
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            match path.is_dir() {
                true => self.add_all(&path, depth + 1),
                false => self.add(&path),
            }
        }
    }
}

/// The path with its links resolved, as far as it exists; `None` if one of them leads to a file that does not
/// exist yet, or cannot be followed.
fn real_path(path: &Path) -> Option<PathBuf> {
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            return Some(real.join(path.strip_prefix(ancestor).ok()?));
        }
        if ancestor.symlink_metadata().is_ok() {
            return None;
        }
    }
    None
}

fn is_really_below(directories: &[PathBuf], path: &Path) -> bool {
    real_path(path).is_some_and(|real| is_below(directories, &real))
}

fn is_below(directories: &[PathBuf], path: &Path) -> bool {
    directories.iter().any(|it| path.starts_with(it))
}

/// True if the last change of a file is so long ago that a later one has another time.
fn is_settled((_, _, _, seconds, nanoseconds): OutsideFileState) -> bool {
    let since_epoch = Duration::new(
        seconds.try_into().unwrap_or(0),
        nanoseconds.try_into().unwrap_or(0),
    );
    let age = (UNIX_EPOCH + since_epoch).elapsed();
    age.is_ok_and(|age| age > OUTSIDE_FILE_SETTLED)
}

/// True if all files have the same states now.
fn are_unchanged(states: &OutsideFileStates) -> bool {
    states.iter().all(|(path, known)| state(path) == *known)
}

/// The files that have other states now, as texts.
#[must_use]
pub fn changed_files(states: &OutsideFileStates) -> Vec<String> {
    let changed = states.iter().filter(|(path, known)| state(path) != **known);
    changed
        .map(|(path, _)| path.display().to_string())
        .collect()
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

    use super::{OUTSIDE_FILE_SETTLED, OutsideFiles, are_unchanged};

    #[test]
    fn every_change_outside_is_noticed_and_none_inside() {
        let directory = tempfile::tempdir().unwrap();
        let path = |below: &str| directory.path().join(below);
        for below in ["version/modules", "base/ntp/manifests", "fixed/exec"] {
            fs::create_dir_all(path(below)).unwrap();
        }
        fs::write(path("base/ntp/manifests/init.pp"), "class ntp {}").unwrap();
        fs::write(path("secret"), "a").unwrap();
        fs::create_dir(path("linked")).unwrap();
        std::os::unix::fs::symlink(path("linked"), path("version/link")).unwrap();
        std::os::unix::fs::symlink(path("target"), path("version/dangling")).unwrap();
        let modules = [path("version/modules"), path("base"), path("fixed")];
        let modules = (&modules[..], &[path("fixed")][..]);
        let states = || {
            std::thread::sleep(2 * OUTSIDE_FILE_SETTLED);
            let files = OutsideFiles::new(&path("version"), modules, &path("hiera.yaml"));
            files.note(&path("version/inside"));
            files.note(&path("fixed/exec/init.pp"));
            files.note(&path("secret"));
            files.note(&path("absent"));
            files.note(&path("version/modules/../../by-dots"));
            files.note(&path("version/link/by-link"));
            files.note(&path("version/dangling"));
            files.states().unwrap()
        };
        for (changed, content) in [
            ("hiera.yaml", "version: 5"),
            ("secret", "bb"),
            ("absent", "now here"),
            ("by-dots", "now here"),
            ("linked/by-link", "now here"),
            ("target", "now here"),
            ("base/ntp/manifests/init.pp", "class ntp { }"),
            ("base/ntp/manifests/new.pp", "class ntp::new {}"),
        ] {
            let before = states();
            assert!(are_unchanged(&before), "{changed}");
            fs::write(path(changed), content).unwrap();
            assert!(!are_unchanged(&before), "{changed}");
        }
        let files = OutsideFiles::new(&path("version"), modules, &path("hiera.yaml"));
        assert!(files.states().is_none(), "a file has just changed");
        let before = states();
        fs::write(path("version/inside"), "x").unwrap();
        fs::write(path("fixed/exec/init.pp"), "x").unwrap();
        assert!(are_unchanged(&before));
        fs::create_dir(path("base/apache")).unwrap();
        assert!(!are_unchanged(&before));
    }
}
