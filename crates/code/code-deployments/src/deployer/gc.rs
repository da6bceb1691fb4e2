//! Garbage collection of old code versions: [`Deployer::collect`].
//!
//! Invariant: during garbage collection nothing is built or switched; the caller ensures this.

use super::Deployer;
use code_store::content::ContentError;
use code_store::gc::{self, CollectedGarbage, GcOptions, RetentionSettings};

// === impl Deployer ===

impl Deployer {
    /// Removes unused versions and contents. Nothing may be built or switched meanwhile. With
    /// `beside`, unused notes and copies of repositories are removed, too. Blocks.
    pub fn collect(
        &self,
        kept: &GcOptions,
        beside: bool,
    ) -> Result<CollectedGarbage, ContentError> {
        let mut collected = gc::collect(&self.shared.versions, kept)?;
        if beside {
            self.collect_notes(kept, &mut collected)?;
        }
        Ok(collected)
    }

    /// Removes notes, and copies of repositories that neither a source nor a version names.
    fn collect_notes(
        &self,
        kept: &GcOptions,
        collected: &mut CollectedGarbage,
    ) -> Result<(), ContentError> {
        let (mirrors, settings) = (&self.shared.mirrors, &self.shared.settings);
        let Some(mut needed) = gc::collect_notes(&self.shared.versions, kept, collected)? else {
            return Ok(());
        };
        needed.extend(settings.sources.iter().map(|it| it.remote.clone()));
        if !kept.dry_run {
            collected.repositories = mirrors.remove_unused(&needed)?;
        }
        if !kept.cut.is_cancelled() {
            collected.repositories_bytes = Some(mirrors.disk_bytes()?);
        }
        Ok(())
    }

    /// The settings for keeping versions that are not in use.
    pub fn retention(&self) -> RetentionSettings {
        self.shared.settings.keep
    }

    /// Reserves the removal of versions here for a server, which knows the versions that plans
    /// need.
    pub(crate) fn claim(&self) -> Result<(), ContentError> {
        gc::claim(&self.shared.settings.directory)
    }

    /// True if a server has deployed here.
    pub fn is_claimed_by_server(&self) -> bool {
        gc::is_claimed(&self.shared.settings.directory)
    }

    /// Repacks copies of repositories that need it. Deployments may run at the same time.
    pub async fn repack(&self) {
        self.shared.mirrors.repack().await;
    }
}
