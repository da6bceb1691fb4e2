//! Deploys some modules of an environment: r10k's `deploy module`. Main function:
//! [`Deployer::build_modules`].
//!
//! Invariant: everything else is as in the live version's lock, so the control repository is not
//! contacted.

use environments::EnvironmentName;
use puppetfile::{ModuleDeclaration, ModuleSource, Puppetfile};

use super::{BuiltVersion, Deployer};
use crate::error::{DeploymentError, SourcesError};
use code_sources::git::GitReference;
use code_sources::remote_address::strip_credentials;
use code_sources::resolve::{ResolveRequest, ResolveRound, ResolvedControl};
use code_sources::source::{EnvironmentBase, FoundEnvironment, SourceKind, definition_lists};
use code_sources::svn::SvnAddress;
use code_store::version_lock::{
    ControlKind, LockedModule, ModuleOrigin, VersionLock, is_module_name,
};

impl Deployer {
    /// Builds the live version again with the current state of these modules; `None` if it has none
    /// of them.
    pub async fn build_modules(
        &self,
        environment: &EnvironmentName,
        names: &[String],
        round: &ResolveRound,
    ) -> Result<Option<BuiltVersion>, DeploymentError> {
        let live = self.live_lock(environment);
        let live = live.ok_or_else(|| DeploymentError::NotLive(environment.clone()))?;
        let found = Box::pin(self.find_live_source(environment, &live)).await?;
        let fixed =
            ResolvedControl::from_lock(&found, &live.control).ok_or(DeploymentError::Internal)?;
        let (file, notes) = Box::pin(self.environment_puppetfile(&found, &fixed)).await?;
        let is_wanted =
            |module: &ModuleDeclaration| names.iter().any(|name| is_named(module, name));
        let wanted = file.mods.iter().filter(|module| is_wanted(module));
        let wanted = Puppetfile {
            mods: wanted.cloned().collect(),
            ..Puppetfile::clone(&file)
        };
        if wanted.mods.is_empty() {
            return Ok(None);
        }
        let wish = ResolveRequest {
            found: &found,
            control: &fixed,
            file: &wanted,
            settings: &self.shared.settings.to_resolve_settings(),
            live: Some(&live),
        };
        let fresh = round.resolve_lock(wish).await?;
        let lock = merge_modules(environment, live, fresh);
        let is_fresh = |module: &LockedModule| {
            let mut wanted = wanted.mods.iter();
            wanted.any(|it| file.module_directory(it) == module.directory)
        };
        let mut kept = lock.modules.iter().filter(|it| !is_fresh(it));
        if let Some(renamed) = kept.find(|kept| !has_same_origin(kept, &file)) {
            return Err(DeploymentError::Renamed {
                module: renamed.name.clone(),
                environment: environment.clone(),
            });
        }
        let built = Box::pin(self.build_lock(&fixed, lock, &file, notes)).await?;
        Ok(Some(built))
    }

    /// The lock of the live version.
    pub(crate) fn live_lock(&self, environment: &EnvironmentName) -> Option<VersionLock> {
        let live = self.versions().live_version(environment)?;
        self.versions().read_lock(environment, &live)
    }

    /// The environment as the sources define it, at the commit that is live.
    pub(super) async fn find_live_source(
        &self,
        environment: &EnvironmentName,
        live: &VersionLock,
    ) -> Result<FoundEnvironment, DeploymentError> {
        let missing = || DeploymentError::NoSource(environment.clone());
        // A promoted version was built for another environment.
        let of: EnvironmentName = live.environment.parse().map_err(|_| missing())?;
        let control = &live.control;
        for source in &self.shared.settings.sources {
            if source.kind == SourceKind::Git {
                let is_it = control.kind == ControlKind::Git
                    && strip_credentials(&source.remote) == control.remote
                    && source.environment_name(&control.branch).as_ref() == Some(&of);
                if is_it {
                    let commit = control
                        .commit
                        .parse()
                        .map_err(|()| DeploymentError::Internal)?;
                    return Ok(FoundEnvironment {
                        environment: environment.clone(),
                        source: source.clone(),
                        branch: control.branch.clone(),
                        base: EnvironmentBase::Commit(commit),
                        definition: None,
                    });
                }
                continue;
            }
            if let Some(remote) = source.svn_address() {
                let is_it = control.kind == ControlKind::Svn
                    && is_below(&control.remote, &remote.to_public_url())
                    && source.environment_name(&control.branch).as_ref() == Some(&of);
                if is_it {
                    return Ok(FoundEnvironment {
                        environment: environment.clone(),
                        source: source.clone(),
                        branch: control.branch.clone(),
                        base: EnvironmentBase::Svn {
                            address: SvnAddress {
                                url: control.remote.clone(),
                                login: remote.login,
                            },
                            wanted: None,
                        },
                        definition: None,
                    });
                }
                continue;
            }
            let listed = definition_lists::read(source)
                .await
                .map_err(|error| SourcesError {
                    source_name: source.name.clone(),
                    error: std::sync::Arc::new(error.into()),
                })?;
            let mut listed = listed.into_iter();
            let Some(definition) = listed.find(|it| it.environment == of) else {
                continue;
            };
            let base = match (&definition.base, control.kind) {
                (EnvironmentBase::Git { remote, .. }, ControlKind::Git)
                    if strip_credentials(remote) == control.remote =>
                {
                    EnvironmentBase::Git {
                        remote: remote.clone(),
                        wanted: GitReference::Any(control.branch.clone()),
                    }
                }
                (EnvironmentBase::Svn { address, .. }, ControlKind::Svn)
                    if address.to_public_url() == control.remote =>
                {
                    definition.base.clone()
                }
                (EnvironmentBase::Tarball { location, .. }, ControlKind::Tarball)
                    if strip_credentials(location) == control.remote =>
                {
                    definition.base.clone()
                }
                (EnvironmentBase::NoFiles, ControlKind::Plain) => EnvironmentBase::NoFiles,
                _ => continue,
            };
            return Ok(FoundEnvironment {
                environment: environment.clone(),
                source: source.clone(),
                branch: definition.name.clone(),
                base,
                definition: Some(definition.into()),
            });
        }
        Err(missing())
    }
}

/// True if an address names a directory below another address.
fn is_below(address: &str, other: &str) -> bool {
    let rest = address.strip_prefix(other.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.starts_with('/'))
}

fn is_named(module: &ModuleDeclaration, name: &str) -> bool {
    is_module_name(&module.name.to_string(), name)
}

/// The live lock, with the modules that were resolved again.
fn merge_modules(
    environment: &EnvironmentName,
    live: VersionLock,
    fresh: VersionLock,
) -> VersionLock {
    let is_fresh = |module: &LockedModule| {
        let mut fresh = fresh.modules.iter();
        fresh.any(|it| it.directory == module.directory)
    };
    let mut modules = live.modules;
    modules.retain(|module| !is_fresh(module));
    modules.extend(fresh.modules);
    modules.sort_by(|one, other| one.directory.cmp(&other.directory));
    VersionLock {
        environment: environment.to_string(),
        control: live.control,
        modules,
        generated_types: fresh.generated_types,
    }
}

/// True if a module that stays is still named in the same way, so that it can be fetched again.
pub(super) fn has_same_origin(kept: &LockedModule, file: &Puppetfile) -> bool {
    let mut named = file.mods.iter();
    let named = named.find(|module| file.module_directory(module) == kept.directory);
    match (&kept.origin, named.map(|module| &module.source)) {
        (ModuleOrigin::Git { remote, .. }, Some(ModuleSource::Git { remote: named, .. })) => {
            strip_credentials(named) == *remote
        }
        (ModuleOrigin::Tarball { source, .. }, Some(ModuleSource::Tarball { location, .. })) => {
            strip_credentials(location) == *source
        }
        (ModuleOrigin::Svn { remote, .. }, Some(ModuleSource::Svn { remote: named, .. })) => {
            strip_credentials(named) == *remote
        }
        (ModuleOrigin::Forge { .. }, Some(ModuleSource::Forge(_)))
        | (ModuleOrigin::Local, Some(ModuleSource::Local)) => true,
        _ => false,
    }
}
