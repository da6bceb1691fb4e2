//! Removal of environments that no source has any more: [`Deployer::gone`], [`Deployer::remove`].
//!
//! Invariant: only an environment that came from a source is removed because no source has it any more.

use environments::EnvironmentName;

use super::{Deployer, blocking};
use crate::error::DeployError;
use code_sources::source::Environments;
use code_store::content::ContentError;
use code_store::lock::STAGED;
use code_store::version::VersionSignature;

// === impl Deployer ===

impl Deployer {
    /// The environments that are live and that no source has any more.
    pub fn gone(&self, environments: &Environments) -> Result<Vec<EnvironmentName>, ContentError> {
        let live = self.shared.versions.environments()?.into_iter();
        let gone = live.filter(|(name, live)| {
            !environments.found.contains_key(name) && !self.is_staged(name, live)
        });
        Ok(gone.map(|(name, _)| name).collect())
    }

    /// True if a version came from the staging directory, so that it belongs to another tool.
    pub(crate) fn is_staged(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> bool {
        let lock = self.shared.versions.lock(environment, signature);
        lock.is_some_and(|lock| lock.control.remote == STAGED)
    }

    /// Removes an environment; its versions stay. Returns `false` if Tutti had not deployed it.
    pub async fn remove(&self, environment: &EnvironmentName) -> Result<bool, DeployError> {
        let (deployer, environment) = (self.clone(), environment.clone());
        blocking(move || {
            let versions = &deployer.shared.versions;
            if versions.live(&environment).is_none() {
                return Ok(false);
            }
            // Without a server there are no followers.
            if deployer.is_of_a_server() {
                versions.note_taken_away(&environment)?;
            }
            Ok(versions.remove(&environment)?)
        })
        .await
    }
}
