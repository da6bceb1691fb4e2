//! Deployers with changed settings: [`Deployer::with_settings`].
//!
//! Invariant: a running deployment continues with the settings that it began with; both deployers
//! share the directories on the disk and their locks.

use std::sync::{Arc, Mutex};

use super::{Deployer, DeployerShared};
use code_settings::{DeploymentSettings, R10kFile};
use code_sources::archive::ArchiveStore;
use code_sources::git::GitProgram;

// === impl Deployer ===

impl Deployer {
    /// Returns this deployer, with a file from which a server reads the settings again before each
    /// deployment.
    pub fn with_settings_file(self, file: R10kFile) -> Self {
        Self {
            file: Some(Arc::new(file)),
            ..self
        }
    }

    /// The file of the settings; `None` if they do not change.
    pub(crate) fn settings_file(&self) -> Option<Arc<R10kFile>> {
        self.file.clone()
    }

    /// Returns a deployer with other settings; its directories stay the same.
    pub(crate) fn with_settings(&self, settings: DeploymentSettings, git: GitProgram) -> Self {
        let versions = self.shared.versions.clone();
        let mirrors = self.shared.mirrors.with_git(git);
        let archives = ArchiveStore::new(
            &settings.directory,
            &settings.forge,
            settings.proxy.as_deref(),
            versions.content().clone(),
        );
        let trees = self.shared.trees.with_mirrors(&mirrors, &archives);
        Self {
            shared: Arc::new(DeployerShared {
                settings,
                mirrors,
                archives,
                trees,
                svn: self.shared.svn.clone(),
                versions,
                puppetfiles: Mutex::default(),
                verified: Arc::clone(&self.shared.verified),
            }),
            file: self.file.clone(),
        }
    }
}
