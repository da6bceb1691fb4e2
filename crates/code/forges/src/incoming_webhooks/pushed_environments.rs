//! The live environments that a push concerns: [`environments_at`] for those that come from its repository,
//! [`environments_with`] for those with a module that does.

use environments::EnvironmentName;

use super::PushedRepository;
use code_deployments::service::SubmitError;
use code_store::content::ContentError;
use code_store::lock::is_module_name;
use code_store::lock::{ControlKind, LockedModule, VersionLock};
use code_store::version::Versions;

/// An environment, and the modules of it that are meant.
type With = (EnvironmentName, Vec<String>);

/// The live environments that have a module: the one of this name, or else those that come from the repository,
/// or else the one that the repository's name says.
pub async fn environments_with(
    versions: &Versions,
    repository: Option<PushedRepository>,
    module: Option<&str>,
) -> Result<Vec<With>, SubmitError> {
    let (versions, module) = (versions.clone(), module.map(str::to_owned));
    blocking(move || {
        let locks = live(&versions)?;
        Ok(match (module, repository) {
            (Some(module), _) => with(&locks, |it| is_module_name(&it.name, &module)),
            (None, Some(repository)) => {
                let is_from =
                    |it: &LockedModule| it.remote().is_some_and(|it| repository.is_at(it));
                let from_there = with(&locks, is_from);
                match from_there.is_empty() {
                    true => with(&locks, |it| is_module_name(&it.name, repository.module())),
                    false => from_there,
                }
            }
            (None, None) => Vec::new(),
        })
    })
    .await
}

/// The live environments whose own files are from these branches of the repository, those of lists among them.
/// A promoted version counts for the environment that it was made for, which is not the one that it is live in.
pub async fn environments_at(
    versions: &Versions,
    repository: PushedRepository,
    branches: Vec<String>,
) -> Result<Vec<EnvironmentName>, SubmitError> {
    let versions = versions.clone();
    blocking(move || {
        let is_from = |environment: &EnvironmentName, lock: &VersionLock| {
            let control = &lock.control;
            control.kind == ControlKind::Git
                && lock.environment == environment.as_str()
                && branches.contains(&control.branch)
                && repository.is_at(&control.remote)
        };
        let mut locks = live(&versions)?;
        locks.retain(|(environment, lock)| is_from(environment, lock));
        Ok(locks
            .into_iter()
            .map(|(environment, _)| environment)
            .collect())
    })
    .await
}

/// What is live, and what it is made of.
fn live(versions: &Versions) -> Result<Vec<(EnvironmentName, VersionLock)>, ContentError> {
    let live = versions.environments()?.into_iter();
    let locks = live.filter_map(|(name, live)| {
        let lock = versions.lock(&name, &live)?;
        Some((name, lock))
    });
    Ok(locks.collect())
}

fn with(
    locks: &[(EnvironmentName, VersionLock)],
    is_meant: impl Fn(&LockedModule) -> bool,
) -> Vec<With> {
    let each = locks.iter().map(|(environment, lock)| {
        let meant = lock.modules.iter().filter(|module| is_meant(module));
        let names: Vec<String> = meant.map(|module| module.name.clone()).collect();
        (environment.clone(), names)
    });
    each.filter(|(_, names)| !names.is_empty()).collect()
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SubmitError> + Send + 'static,
) -> Result<T, SubmitError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(SubmitError::Stopping))
}
