//! Which environments have a module: for the webhooks of modules' repositories.

use deploy::EnvironmentName;

use super::{CodeManager, SubmitError, blocking};
use crate::deployer::is_name_of;
use crate::lock::{Lock, LockedModule};
use crate::push::Repository;

impl CodeManager {
    /// The live environments that have a module: the one of this name, or else those that come from the repository,
    /// or else the one that the repository's name says.
    pub async fn environments_with(
        &self,
        repository: Option<Repository>,
        module: Option<&str>,
    ) -> Result<Vec<EnvironmentName>, SubmitError> {
        let (versions, module) = (self.versions().clone(), module.map(str::to_owned));
        blocking(move || {
            let live = versions.environments()?.into_iter();
            let locks: Vec<(EnvironmentName, Lock)> = live
                .filter_map(|(name, live)| Some((name.clone(), versions.lock(&name, &live)?)))
                .collect();
            let with = |is_meant: &dyn Fn(&LockedModule) -> bool| -> Vec<EnvironmentName> {
                let fitting = locks
                    .iter()
                    .filter(|(_, lock)| lock.modules.iter().any(is_meant));
                fitting.map(|(name, _)| name.clone()).collect()
            };
            Ok(match (module, repository) {
                (Some(module), _) => with(&|it| is_name_of(&it.name, &module)),
                (None, Some(repository)) => {
                    let from_there = with(&|it| it.remote().is_some_and(|it| repository.is_at(it)));
                    match from_there.is_empty() {
                        true => with(&|it| is_name_of(&it.name, repository.module())),
                        false => from_there,
                    }
                }
                (None, None) => Vec::new(),
            })
        })
        .await
    }
}
