//! Commits, archives and revisions that existing versions need. Main type: [`NeededObjects`].
//!
//! Invariant: everything that the lock of any version names is needed. An unreadable lock needs
//! nothing; the only consequence is that the same code is fetched again at its next deployment.

use std::collections::HashSet;

use tokio_util::sync::CancellationToken;

use crate::content::ContentError;
use crate::tree_notes::{release_note_name, revision_note_name};
use crate::version::VersionStore;
use crate::version_lock::{ControlKind, ModuleOrigin};

/// Everything that the locks of versions name.
#[derive(Debug, Default)]
pub(super) struct NeededObjects {
    /// Commits of control repositories and modules.
    pub(super) commits: HashSet<String>,
    /// Checksums of archives.
    pub(super) archives: HashSet<String>,
    /// Names of the notes of Subversion revisions.
    pub(super) revisions: HashSet<String>,
    /// Releases of Forges, `owner-name-version`.
    pub(super) releases: HashSet<String>,
    /// Addresses of repositories, without credentials.
    pub(super) remotes: HashSet<String>,
    /// Names of the versions' directories.
    pub(super) versions: HashSet<String>,
}

// === impl NeededObjects ===

impl NeededObjects {
    /// Reads all locks; `None` if interrupted.
    pub(super) fn from_versions(
        versions: &VersionStore,
        cut: &CancellationToken,
    ) -> Result<Option<Self>, ContentError> {
        let mut needs = Self::default();
        for (environment, signature) in versions.all_versions()? {
            if cut.is_cancelled() {
                return Ok(None);
            }
            needs.versions.insert(format!("{environment}_{signature}"));
            let Some(lock) = versions.read_lock(&environment, &signature) else {
                continue;
            };
            let control = &lock.control;
            match control.kind {
                ControlKind::Svn => {
                    let name = revision_note_name(&control.remote, &control.commit);
                    needs.revisions.insert(name);
                }
                ControlKind::Tarball => drop(needs.archives.insert(control.commit.clone())),
                ControlKind::Git | ControlKind::Plain => {}
            }
            needs.commits.insert(lock.control.commit);
            needs.remotes.insert(lock.control.remote);
            for module in lock.modules {
                needs.add_module(&module.name, module.origin);
            }
        }
        Ok(Some(needs))
    }

    fn add_module(&mut self, module: &str, origin: ModuleOrigin) {
        match origin {
            ModuleOrigin::Git { remote, commit, .. } => {
                self.commits.insert(commit);
                self.remotes.insert(remote);
            }
            ModuleOrigin::Forge {
                version, sha256, ..
            } => {
                self.releases.insert(release_note_name(module, &version));
                self.archives.insert(sha256);
            }
            ModuleOrigin::Tarball { sha256, .. } => drop(self.archives.insert(sha256)),
            ModuleOrigin::Svn { remote, revision } => {
                self.revisions.insert(revision_note_name(&remote, revision));
            }
            ModuleOrigin::Local => {}
        }
    }
}
