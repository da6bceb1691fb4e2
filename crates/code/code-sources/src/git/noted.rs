//! What a copy of a repository has, noted beside it, so that git need not be asked at each start.
//!
//! The rule that must hold: before anything is fetched into a copy, its note goes. A note that is lost costs
//! time; one that is damaged is not what the repository says, so all is fetched once more.

use std::path::PathBuf;

use super::copy::GitMirror;
use super::program::GitError;
use super::refs::Refs;

impl GitMirror {
    /// What was noted of what the copy has.
    pub(super) fn noted(&self) -> Option<Refs> {
        Refs::parse(&std::fs::read(self.refs_file()).ok()?).ok()
    }

    /// So that git need not be asked at the next start. Should it be lost, git is.
    pub(super) fn note(&self, refs: &Refs) {
        let path = self.refs_file();
        let fresh = path.with_extension("refs-new");
        let noted = std::fs::write(&fresh, refs.encode());
        if let Err(error) = noted.and_then(|()| std::fs::rename(&fresh, &path)) {
            tracing::warn!(path = %path.display(), %error, "cannot write a note");
        }
    }

    /// From now on, the copy may have something else.
    pub(super) fn forget(&self) -> Result<(), GitError> {
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
