//! Deployers with changed settings: [`Deployer::with`].
//!
//! Invariant: a running deployment continues with the settings that it began with; both deployers share the
//! directories on the disk and their locks.

use std::sync::{Arc, Mutex};

use super::{Deployer, Shared};
use code_settings::{R10kFile, Settings};
use code_sources::archive::Archives;
use code_sources::git::Git;

// === impl Deployer ===

impl Deployer {
    /// The same deployer, for a server that reads this file again before each deployment.
    pub fn reading(self, file: R10kFile) -> Self {
        Self {
            file: Some(Arc::new(file)),
            ..self
        }
    }

    /// The file of the settings; `None` if they do not change.
    pub(crate) fn settings_file(&self) -> Option<Arc<R10kFile>> {
        self.file.clone()
    }

    /// The same deployer with other settings; its directories stay the same.
    pub(crate) fn with(&self, settings: Settings, git: Git) -> Self {
        let versions = self.shared.versions.clone();
        let mirrors = self.shared.mirrors.with(git);
        let archives = Archives::new(
            &settings.directory,
            &settings.forge,
            settings.proxy.as_deref(),
            versions.content().clone(),
        );
        let trees = self.shared.trees.with(&mirrors, &archives);
        Self {
            shared: Arc::new(Shared {
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
