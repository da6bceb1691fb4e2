//! A deployer by other settings: [`Deployer::with`].
//!
//! The rule that must hold: what is under way goes on by the settings that it began with; both share what is on
//! the disk, and the locks of it.

use std::sync::{Arc, Mutex};

use super::{Deployer, Shared};
use code_settings::{R10kFile, Settings};
use code_sources::archive::Archives;
use code_sources::git::Git;

// === impl Deployer ===

impl Deployer {
    /// The same, for a server that looks at this file before each deployment.
    pub fn reading(self, file: R10kFile) -> Self {
        Self {
            file: Some(Arc::new(file)),
            ..self
        }
    }

    /// Where its settings are that may change.
    pub(crate) fn settings_file(&self) -> Option<Arc<R10kFile>> {
        self.file.clone()
    }

    /// The same by other settings; its directories are as they were.
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
