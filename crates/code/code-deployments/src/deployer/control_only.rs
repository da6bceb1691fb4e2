//! Deploys an environment's own files and keeps its modules: `deploy-modules: false`. Main
//! function: [`Deployer::build_control`].
//!
//! Invariant: the modules are those of the live version's lock, regardless of the new Puppetfile.

use super::modules::has_same_origin;
use super::{BuiltVersion, Deployer};
use crate::error::DeploymentError;
use code_sources::resolve::{ResolveRound, ResolvedControl};
use code_sources::source::FoundEnvironment;
use code_store::version_lock::VersionLock;

// === impl Deployer ===

impl Deployer {
    /// Builds the version of a source's current state, with the modules of the live version.
    pub async fn build_control(
        &self,
        found: &FoundEnvironment,
        round: &ResolveRound,
    ) -> Result<BuiltVersion, DeploymentError> {
        let environment = &found.environment;
        let live = self.live_lock(environment);
        let live = live.ok_or_else(|| DeploymentError::NotLive(environment.clone()))?;
        // The Puppetfile with which the modules were deployed names their origins.
        let was = Box::pin(self.find_live_source(environment, &live)).await?;
        let old =
            ResolvedControl::from_lock(&was, &live.control).ok_or(DeploymentError::Internal)?;
        let (file, notes) = Box::pin(self.environment_puppetfile(&was, &old)).await?;
        let mut modules = live.modules.iter();
        if let Some(renamed) = modules.find(|module| !has_same_origin(module, &file)) {
            return Err(DeploymentError::Renamed {
                module: renamed.name.clone(),
                environment: environment.clone(),
            });
        }
        let fixed = Box::pin(round.resolve_control(found)).await?;
        let lock = VersionLock {
            environment: environment.to_string(),
            control: fixed.to_locked_control(found),
            modules: live.modules,
            generated_types: self.shared.settings.generate_types.is_some(),
        };
        Box::pin(self.build_lock(&fixed, lock, &file, notes)).await
    }
}
