//! Environments that go: [`Deployer::gone`], [`Deployer::remove`].
//!
//! The rule that must hold: only what came from a source goes because no source has it any more.

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

    /// Whether a version came from the staging directory: it is another tool's.
    pub(crate) fn is_staged(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> bool {
        let lock = self.shared.versions.lock(environment, signature);
        lock.is_some_and(|lock| lock.control.remote == STAGED)
    }

    /// Takes an environment away; its versions stay. `false`: there was none of ours.
    pub async fn remove(&self, environment: &EnvironmentName) -> Result<bool, DeployError> {
        let (deployer, environment) = (self.clone(), environment.clone());
        blocking(move || {
            let versions = &deployer.shared.versions;
            if versions.live(&environment).is_none() {
                return Ok(false);
            }
            // Where no server ever was, nobody follows.
            if deployer.is_of_a_server() {
                versions.note_taken_away(&environment)?;
            }
            Ok(versions.remove(&environment)?)
        })
        .await
    }
}
