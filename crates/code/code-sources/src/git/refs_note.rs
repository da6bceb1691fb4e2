//! A note beside a repository's copy with its branches and tags, so that git need not be run at
//! each start.
//!
//! Invariant: the note is removed before anything is fetched into a copy. A lost note costs time;
//! one that is damaged differs from the repository, so everything is fetched once more.

use std::path::PathBuf;

use super::git_mirror::GitMirror;
use super::program::GitError;
use super::refs::GitRefs;

impl GitMirror {
    /// Branches and tags from the note.
    pub(super) fn read_refs_note(&self) -> Option<GitRefs> {
        GitRefs::parse(&std::fs::read(self.refs_file()).ok()?).ok()
    }

    /// Writes the note, so that git need not be run at the next start. If writing fails, git is run
    /// then.
    pub(super) fn write_refs_note(&self, refs: &GitRefs) {
        let path = self.refs_file();
        let fresh = path.with_extension("refs-new");
        let noted = std::fs::write(&fresh, refs.encode());
        if let Err(error) = noted.and_then(|()| std::fs::rename(&fresh, &path)) {
            tracing::warn!(path = %path.display(), %error, "cannot write a note");
        }
    }

    /// Removes the note before the copy changes.
    pub(super) fn remove_refs_note(&self) -> Result<(), GitError> {
        let path = self.refs_file();
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(GitError::Directory { path, source })
            }
            _ => Ok(()),
        }
    }

    fn refs_file(&self) -> PathBuf {
        self.directory().with_extension("refs")
    }
}
