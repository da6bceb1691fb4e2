//! The work of requests for all environments.
//!
//! Invariant: an environment from the staging directory belongs to another tool, and one from a
//! source does not; neither kind of request removes environments of the other kind.

use environments::EnvironmentName;

use super::blocking::run_blocking;
use super::deployment_record::DeploymentAction;
use super::error::DeploymentSubmitError;
use super::manager::CodeManager;
use code_store::version_lock::is_module_name;

// === impl CodeManager ===

impl CodeManager {
    /// The work that brings all environments to the state of their branches: environments of the
    /// sources are deployed, and those that no source has any more are removed.
    pub async fn plan_all_environments(
        &self,
        dry_run: bool,
    ) -> Result<Vec<(EnvironmentName, DeploymentAction)>, DeploymentSubmitError> {
        let deployer = self.inner.tools.current.reload_settled().await?;
        let environments = deployer.list_environments(&deployer.start_round()).await?;
        let mut wanted: Vec<_> = environments
            .by_name
            .keys()
            .map(|name| (name.clone(), DeploymentAction::Deploy { dry_run }))
            .collect();
        if !dry_run {
            let gone = deployer.deleted_environments(&environments)?.into_iter();
            wanted.extend(gone.map(|name| (name, DeploymentAction::Remove)));
        }
        Ok(wanted)
    }

    /// The work that deploys these modules in all environments that have any of them.
    pub async fn plan_modules(
        &self,
        names: &[String],
        dry_run: bool,
    ) -> Result<Vec<(EnvironmentName, DeploymentAction)>, DeploymentSubmitError> {
        let (manager, names) = (self.clone(), names.to_vec());
        run_blocking(move || {
            let mut wanted = Vec::new();
            for (environment, live) in manager.versions().live_environments()? {
                let Some(lock) = manager.versions().read_lock(&environment, &live) else {
                    continue;
                };
                let has = |name: &&String| {
                    let mut modules = lock.modules.iter();
                    modules.any(|module| is_module_name(&module.name, name))
                };
                // Only the modules that this environment has.
                let names: Vec<String> = names.iter().filter(has).cloned().collect();
                if !names.is_empty() {
                    wanted.push((environment, DeploymentAction::Modules { names, dry_run }));
                }
            }
            Ok(wanted)
        })
        .await
    }

    /// The work that brings all environments to the state of the staging directory: its
    /// environments are published, and those that came from there and are no longer there are
    /// removed.
    pub async fn plan_staged(
        &self,
    ) -> Result<Vec<(EnvironmentName, DeploymentAction)>, DeploymentSubmitError> {
        let manager = self.clone();
        run_blocking(move || {
            let deployer = &manager.inner.tools.deployer;
            let staged = deployer.staged_environments()?;
            let publish = staged
                .iter()
                .map(|name| (name.clone(), DeploymentAction::Publish));
            let mut wanted: Vec<_> = publish.collect();
            for (name, live) in manager.versions().live_environments()? {
                if !staged.contains(&name) && deployer.is_staged(&name, &live) {
                    wanted.push((name, DeploymentAction::Remove));
                }
            }
            Ok(wanted)
        })
        .await
    }
}
