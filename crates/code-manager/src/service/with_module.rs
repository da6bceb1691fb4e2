//! Which environments have a module: for the webhooks of modules' repositories.

use deploy::EnvironmentName;

use super::{CodeManager, SubmitError, blocking};
use crate::deployer::is_name_of;
use crate::lock::{Lock, LockedModule};
use crate::push::Repository;

/// An environment, and the modules of it that are meant.
type With = (EnvironmentName, Vec<String>);

impl CodeManager {
    /// The live environments that have a module: the one of this name, or else those that come from the repository,
    /// or else the one that the repository's name says.
    pub async fn environments_with(
        &self,
        repository: Option<Repository>,
        module: Option<&str>,
    ) -> Result<Vec<With>, SubmitError> {
        let (versions, module) = (self.versions().clone(), module.map(str::to_owned));
        blocking(move || {
            let live = versions.environments()?.into_iter();
            let locks: Vec<(EnvironmentName, Lock)> = live
                .filter_map(|(name, live)| Some((name.clone(), versions.lock(&name, &live)?)))
                .collect();
            Ok(match (module, repository) {
                (Some(module), _) => with(&locks, |it| is_name_of(&it.name, &module)),
                (None, Some(repository)) => {
                    let is_from =
                        |it: &LockedModule| it.remote().is_some_and(|it| repository.is_at(it));
                    let from_there = with(&locks, is_from);
                    match from_there.is_empty() {
                        true => with(&locks, |it| is_name_of(&it.name, repository.module())),
                        false => from_there,
                    }
                }
                (None, None) => Vec::new(),
            })
        })
        .await
    }
}

fn with(locks: &[(EnvironmentName, Lock)], is_meant: impl Fn(&LockedModule) -> bool) -> Vec<With> {
    let each = locks.iter().map(|(environment, lock)| {
        let meant = lock.modules.iter().filter(|module| is_meant(module));
        let names: Vec<String> = meant.map(|module| module.name.clone()).collect();
        (environment.clone(), names)
    });
    each.filter(|(_, names)| !names.is_empty()).collect()
}
