//! Deploys an environment's own files and keeps its modules: `deploy-modules: false`. Main function:
//! [`Deployer::build_control`].
//!
//! Invariant: the modules are those of the live version's lock, regardless of the new Puppetfile.

use super::modules::is_as_it_was;
use super::{BuiltVersion, Deployer};
use crate::error::DeployError;
use code_sources::resolve::{FixedControl, ResolveRound};
use code_sources::source::FoundEnvironment;
use code_store::lock::VersionLock;

// === impl Deployer ===

impl Deployer {
    /// Builds the version of a source's current state, with the modules of the live version.
    pub async fn build_control(
        &self,
        found: &FoundEnvironment,
        round: &ResolveRound,
    ) -> Result<BuiltVersion, DeployError> {
        let environment = &found.environment;
        let live = self.live_lock(environment);
        let live = live.ok_or_else(|| DeployError::NotLive(environment.clone()))?;
        // The Puppetfile with which the modules were deployed names their origins.
        let was = Box::pin(self.found_of(environment, &live)).await?;
        let old = FixedControl::of(&was, &live.control).ok_or(DeployError::Broken)?;
        let (file, notes) = Box::pin(self.file(&was, &old)).await?;
        let mut modules = live.modules.iter();
        if let Some(renamed) = modules.find(|module| !is_as_it_was(module, &file)) {
            return Err(DeployError::Renamed {
                module: renamed.name.clone(),
                environment: environment.clone(),
            });
        }
        let fixed = Box::pin(round.fixed(found)).await?;
        let lock = VersionLock {
            environment: environment.to_string(),
            control: fixed.control(found),
            modules: live.modules,
            generated_types: self.shared.settings.generate_types.is_some(),
        };
        Box::pin(self.build_of(&fixed, lock, &file, notes)).await
    }
}
