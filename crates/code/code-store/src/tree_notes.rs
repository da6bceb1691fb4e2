//! Names of the notes that record the tree of a commit, an archive or a Subversion revision.
//!
//! Notes are below the directory of deployments, next to the contents and versions that they
//! describe. Invariant: a name is derived only from data in a version's lock, so that garbage
//! collection and the comparison of versions find the notes of every version.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::content::{ContentError, ContentHash, content_error};

/// The two ways in which an archive is read, each with notes of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveForm {
    /// A release of a module in the format of a Forge.
    Release,
    /// An archive from any address.
    Any,
}

// === impl ArchiveForm ===

impl ArchiveForm {
    fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Any => "any",
        }
    }
}

/// Directory of the notes of archives and releases, below the directory of deployments.
pub fn archives_directory(store: &Path) -> PathBuf {
    store.join("archives")
}

/// Directory of the notes of Subversion revisions, below the directory of deployments.
pub fn revisions_directory(store: &Path) -> PathBuf {
    store.join("svn").join("trees")
}

/// Directory of the copies of git repositories, below the directory of deployments.
pub fn repositories_directory(store: &Path) -> PathBuf {
    store.join("repositories")
}

/// Directory of the notes of commits, next to the copy of their repository.
pub fn commits_directory(repository: &Path) -> PathBuf {
    repository.with_extension("trees")
}

/// Directories of the notes of commits, one for each copy of a repository.
pub fn commits_directories(store: &Path) -> Result<Vec<PathBuf>, ContentError> {
    let repositories = repositories_directory(store);
    let entries = match std::fs::read_dir(&repositories) {
        Ok(entries) => entries,
        // Nothing was fetched yet.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(content_error("read", &repositories)(error)),
    };
    let mut directories = Vec::new();
    for entry in entries {
        let path = entry.map_err(content_error("read", &repositories))?.path();
        if path.extension().is_some_and(|it| it == "trees") {
            directories.push(path);
        }
    }
    Ok(directories)
}

/// Returns the name of a note for two texts: a hash, since the texts may contain any bytes.
pub fn note_name(of: &str, and: &str) -> String {
    ContentHash::of(format!("{of}\0{and}").as_bytes()).to_string()
}

/// Name of the note of a revision; `url` has no credentials.
pub fn revision_note_name(url: &str, revision: impl Display) -> String {
    note_name(url, &revision.to_string())
}

/// Returns the name of the note for the tree in an archive with this SHA-256.
pub fn archive_note_name(sha256: &str, form: ArchiveForm) -> String {
    note_name(sha256, form.name())
}

/// Names of the notes of an archive in all forms.
pub fn archive_note_names(sha256: &str) -> [String; 2] {
    [ArchiveForm::Release, ArchiveForm::Any].map(|form| archive_note_name(sha256, form))
}

/// Name of the note of a release of a module, `owner/name`.
pub fn release_note_name(module: &str, version: &str) -> String {
    format!("{}-{version}", module.replace('/', "-"))
}
