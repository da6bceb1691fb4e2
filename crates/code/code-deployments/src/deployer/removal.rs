//! Removal of environments that no source has any more: [`Deployer::deleted_environments`],
//! [`Deployer::remove`].
//!
//! Invariant: only an environment that came from a source is removed because no source has it any
//! more.

use environments::EnvironmentName;

use super::{Deployer, run_blocking};
use crate::error::DeploymentError;
use code_sources::source::FoundEnvironments;
use code_store::content::ContentError;
use code_store::version::VersionSignature;
use code_store::version_lock::STAGED;

// === impl Deployer ===

impl Deployer {
    /// The environments that are live and that no source has any more.
    pub fn deleted_environments(
        &self,
        environments: &FoundEnvironments,
    ) -> Result<Vec<EnvironmentName>, ContentError> {
        let live = self.shared.versions.live_environments()?.into_iter();
        let gone = live.filter(|(name, live)| {
            !environments.by_name.contains_key(name) && !self.is_staged(name, live)
        });
        Ok(gone.map(|(name, _)| name).collect())
    }

    /// True if a version came from the staging directory, so that it belongs to another tool.
    pub(crate) fn is_staged(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> bool {
        let lock = self.shared.versions.read_lock(environment, signature);
        lock.is_some_and(|lock| lock.control.remote == STAGED)
    }

    /// Removes an environment; its versions stay. Returns `false` if Tutti had not deployed it.
    pub async fn remove(&self, environment: &EnvironmentName) -> Result<bool, DeploymentError> {
        let (deployer, environment) = (self.clone(), environment.clone());
        run_blocking(move || {
            let versions = &deployer.shared.versions;
            if versions.live_version(&environment).is_none() {
                return Ok(false);
            }
            // Without a server there are no followers.
            if deployer.is_claimed_by_server() {
                versions.note_removal(&environment)?;
            }
            Ok(versions.remove(&environment)?)
        })
        .await
    }
}
