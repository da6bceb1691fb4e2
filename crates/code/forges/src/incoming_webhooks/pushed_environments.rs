//! The live environments that a push concerns: [`environments_from_branches`] for pushes to their
//! control repository, [`environments_with_module`] for pushes to a module's repository.

use environments::EnvironmentName;

use super::PushedRepository;
use code_deployments::service::DeploymentSubmitError;
use code_store::content::ContentError;
use code_store::version::VersionStore;
use code_store::version_lock::is_module_name;
use code_store::version_lock::{ControlKind, LockedModule, VersionLock};

/// An environment, and its modules that the push concerns.
type AffectedEnvironment = (EnvironmentName, Vec<String>);

/// Finds the live environments with the module of this name, if one is given; otherwise with
/// modules from the repository, or with the module that the repository's name contains if there are
/// none.
pub async fn environments_with_module(
    versions: &VersionStore,
    repository: Option<PushedRepository>,
    module: Option<&str>,
) -> Result<Vec<AffectedEnvironment>, DeploymentSubmitError> {
    let (versions, module) = (versions.clone(), module.map(str::to_owned));
    run_blocking(move || {
        let locks = live_locks(&versions)?;
        Ok(match (module, repository) {
            (Some(module), _) => filter_modules(&locks, |it| is_module_name(&it.name, &module)),
            (None, Some(repository)) => {
                let is_from =
                    |it: &LockedModule| it.remote().is_some_and(|it| repository.has_remote(it));
                let from_there = filter_modules(&locks, is_from);
                match from_there.is_empty() {
                    true => filter_modules(&locks, |it| {
                        is_module_name(&it.name, repository.module_name())
                    }),
                    false => from_there,
                }
            }
            (None, None) => Vec::new(),
        })
    })
    .await
}

/// Finds the live environments whose own files are from these branches of the repository, including
/// those defined in an environment list. A promoted version counts for the environment that it was
/// built for only, and not for the one that it is live in.
pub async fn environments_from_branches(
    versions: &VersionStore,
    repository: PushedRepository,
    branches: Vec<String>,
) -> Result<Vec<EnvironmentName>, DeploymentSubmitError> {
    let versions = versions.clone();
    run_blocking(move || {
        let is_from = |environment: &EnvironmentName, lock: &VersionLock| {
            let control = &lock.control;
            control.kind == ControlKind::Git
                && lock.environment == environment.as_str()
                && branches.contains(&control.branch)
                && repository.has_remote(&control.remote)
        };
        let mut locks = live_locks(&versions)?;
        locks.retain(|(environment, lock)| is_from(environment, lock));
        Ok(locks
            .into_iter()
            .map(|(environment, _)| environment)
            .collect())
    })
    .await
}

/// The live versions with their locks.
fn live_locks(
    versions: &VersionStore,
) -> Result<Vec<(EnvironmentName, VersionLock)>, ContentError> {
    let live = versions.live_environments()?.into_iter();
    let locks = live.filter_map(|(name, live)| {
        let lock = versions.read_lock(&name, &live)?;
        Some((name, lock))
    });
    Ok(locks.collect())
}

fn filter_modules(
    locks: &[(EnvironmentName, VersionLock)],
    is_meant: impl Fn(&LockedModule) -> bool,
) -> Vec<AffectedEnvironment> {
    let each = locks.iter().map(|(environment, lock)| {
        let meant = lock.modules.iter().filter(|module| is_meant(module));
        let names: Vec<String> = meant.map(|module| module.name.clone()).collect();
        (environment.clone(), names)
    });
    each.filter(|(_, names)| !names.is_empty()).collect()
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DeploymentSubmitError> + Send + 'static,
) -> Result<T, DeploymentSubmitError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(DeploymentSubmitError::Stopping))
}
