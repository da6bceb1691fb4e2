//! Differences between two versions: [`ModuleChanges`] by module, [`FileChanges`] by file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use api_types::{CodeChange, CodeChanges, CodeModuleChange};
use serde::{Deserialize, Serialize};

use crate::content::{ContentError, content_error};
use crate::defaults::DIFF_FILES;
use crate::r10k_deploy_file::R10K_FILE;
use crate::version_lock::{LOCK_FILE, VersionLock};

/// Differences between two versions, by module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleChanges {
    /// Change of the control repository's commit, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<CommitChange>,
    /// Changed modules, by their directories.
    #[serde(default)]
    pub modules: Vec<ModuleChange>,
}

/// The commits before and after a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitChange {
    /// The old commit; `None` if there was none.
    pub from: Option<String>,
    /// The new commit; `None` if there is none.
    pub to: Option<String>,
}

/// The change of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleChange {
    /// Directory of the module, relative to the environment.
    pub directory: String,
    /// Versions of the module before and after: a commit, or `local`.
    #[serde(flatten)]
    pub version: CommitChange,
}

/// Differences between two versions, by file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileChanges {
    /// Changed files, ordered by path.
    pub files: Vec<FileChange>,
    /// True if there are more changed files.
    pub cut: bool,
}

/// A file that differs between two versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Path of the file, relative to the environment.
    pub path: String,
    /// The kind of the difference.
    pub kind: FileChangeKind,
}

/// The kind of a file's difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChangeKind {
    /// The file is only in the new version.
    Added,
    /// The file is only in the old version.
    Removed,
    /// The content, the mode or the link target differs.
    Changed,
}

// === impl ModuleChanges ===

impl ModuleChanges {
    /// The changes from one version, if there was one, to another.
    pub fn between_locks(before: Option<&VersionLock>, after: &VersionLock) -> Self {
        let commit = before.map(|lock| &lock.control.commit);
        let control = (commit != Some(&after.control.commit)).then(|| CommitChange {
            from: commit.cloned(),
            to: Some(after.control.commit.clone()),
        });
        let (old, new) = (
            before.map(module_versions).unwrap_or_default(),
            module_versions(after),
        );
        let mut names: Vec<&str> = old.keys().chain(new.keys()).copied().collect();
        names.sort_unstable();
        names.dedup();
        let modules = names
            .into_iter()
            .filter(|name| old.get(name) != new.get(name))
            .map(|name| ModuleChange {
                directory: name.to_owned(),
                version: CommitChange {
                    from: old.get(name).map(|it| it.clone().into_owned()),
                    to: new.get(name).map(|it| it.clone().into_owned()),
                },
            });
        Self {
            control,
            modules: modules.collect(),
        }
    }
}

fn module_versions(lock: &VersionLock) -> BTreeMap<&str, Cow<'_, str>> {
    lock.modules
        .iter()
        .map(|module| (module.directory.as_str(), module.origin.version()))
        .collect()
}

impl From<ModuleChanges> for CodeChanges {
    fn from(changes: ModuleChanges) -> Self {
        let modules = changes.modules.into_iter().map(|module| CodeModuleChange {
            directory: module.directory,
            from: module.version.from,
            to: module.version.to,
        });
        Self {
            control: changes.control.map(|change| CodeChange {
                from: change.from,
                to: change.to,
            }),
            modules: modules.collect(),
        }
    }
}

// === impl FileChanges ===

impl FileChanges {
    /// The changes from the tree in one directory to the tree in another. No file has to be read,
    /// since versions share their files: the same content is the same file.
    pub fn between_directories(before: &Path, after: &Path) -> Result<Self, ContentError> {
        let (old, new) = (file_identities(before)?, file_identities(after)?);
        let mut changes = Self::default();
        let removed = old.keys().filter(|path| !new.contains_key(*path));
        let removed = removed.map(|path| (path, FileChangeKind::Removed));
        let others = new.iter().filter_map(|(path, is)| match old.get(path) {
            None => Some((path, FileChangeKind::Added)),
            Some(was) if was != is => Some((path, FileChangeKind::Changed)),
            Some(_) => None,
        });
        let mut all: Vec<_> = removed.chain(others).collect();
        all.sort_by_key(|(path, _)| *path);
        changes.cut = all.len() > DIFF_FILES;
        all.truncate(DIFF_FILES);
        let shown = all.into_iter().map(|(path, kind)| FileChange {
            path: path.to_string_lossy().into_owned(),
            kind,
        });
        changes.files = shown.collect();
        Ok(changes)
    }
}

/// The identity of a file or link, for comparison.
#[derive(PartialEq, Eq)]
enum TreeFileIdentity {
    File(u64),
    Link(PathBuf),
}

fn file_identities(root: &Path) -> Result<BTreeMap<PathBuf, TreeFileIdentity>, ContentError> {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).map_err(content_error("read", &directory))? {
            let path = entry.map_err(content_error("read", &directory))?.path();
            let metadata: Metadata =
                fs::symlink_metadata(&path).map_err(content_error("read", &path))?;
            if metadata.is_dir() {
                left.push(path);
                continue;
            }
            let is = match metadata.is_symlink() {
                true => TreeFileIdentity::Link(
                    fs::read_link(&path).map_err(content_error("read", &path))?,
                ),
                false => TreeFileIdentity::File(metadata.ino()),
            };
            let relative = path.strip_prefix(root).unwrap_or(&path);
            if ![LOCK_FILE, R10K_FILE].map(Path::new).contains(&relative) {
                found.insert(relative.to_owned(), is);
            }
        }
    }
    Ok(found)
}
