//! Deploys some modules of an environment: r10k's `deploy module`. Main function:
//! [`Deployer::build_modules`].
//!
//! Invariant: everything else is as in the live version's lock, so the control repository is not contacted.

use environments::EnvironmentName;
use puppetfile::{Mod, Puppetfile, Source};

use super::{BuiltVersion, Deployer};
use crate::error::{DeployError, SourcesError};
use code_sources::git::Wanted;
use code_sources::remote_address::without_credentials;
use code_sources::resolve::{FixedControl, ResolveRound, Wish};
use code_sources::source::{Base, FoundEnvironment, SourceKind, defined};
use code_sources::svn::Address;
use code_store::lock::{ControlKind, LockedModule, ModuleOrigin, VersionLock, is_module_name};

impl Deployer {
    /// Builds the live version again with the current state of these modules; `None` if it has none of them.
    pub async fn build_modules(
        &self,
        environment: &EnvironmentName,
        names: &[String],
        round: &ResolveRound,
    ) -> Result<Option<BuiltVersion>, DeployError> {
        let live = self.live_lock(environment);
        let live = live.ok_or_else(|| DeployError::NotLive(environment.clone()))?;
        let found = Box::pin(self.found_of(environment, &live)).await?;
        let fixed = FixedControl::of(&found, &live.control).ok_or(DeployError::Broken)?;
        let (file, notes) = Box::pin(self.file(&found, &fixed)).await?;
        let is_wanted = |module: &Mod| names.iter().any(|name| is_named(module, name));
        let wanted = file.mods.iter().filter(|module| is_wanted(module));
        let wanted = Puppetfile {
            mods: wanted.cloned().collect(),
            ..Puppetfile::clone(&file)
        };
        if wanted.mods.is_empty() {
            return Ok(None);
        }
        let wish = Wish {
            found: &found,
            fixed: &fixed,
            file: &wanted,
            settings: &self.shared.settings.resolving(),
            live: Some(&live),
        };
        let fresh = round.lock(wish).await?;
        let lock = renewed(environment, live, fresh);
        let is_fresh = |module: &LockedModule| {
            let mut wanted = wanted.mods.iter();
            wanted.any(|it| file.directory(it) == module.directory)
        };
        let mut kept = lock.modules.iter().filter(|it| !is_fresh(it));
        if let Some(renamed) = kept.find(|kept| !is_as_it_was(kept, &file)) {
            return Err(DeployError::Renamed {
                module: renamed.name.clone(),
                environment: environment.clone(),
            });
        }
        let built = Box::pin(self.build_of(&fixed, lock, &file, notes)).await?;
        Ok(Some(built))
    }

    /// The lock of the live version.
    pub(crate) fn live_lock(&self, environment: &EnvironmentName) -> Option<VersionLock> {
        let live = self.versions().live(environment)?;
        self.versions().lock(environment, &live)
    }

    /// The environment as the sources define it, at the commit that is live.
    pub(super) async fn found_of(
        &self,
        environment: &EnvironmentName,
        live: &VersionLock,
    ) -> Result<FoundEnvironment, DeployError> {
        let missing = || DeployError::NoSource(environment.clone());
        // A promoted version was built for another environment.
        let of: EnvironmentName = live.environment.parse().map_err(|_| missing())?;
        let control = &live.control;
        for source in &self.shared.settings.sources {
            if source.kind == SourceKind::Git {
                let is_it = control.kind == ControlKind::Git
                    && without_credentials(&source.remote) == control.remote
                    && source.environment(&control.branch).as_ref() == Some(&of);
                if is_it {
                    let commit = control.commit.parse().map_err(|()| DeployError::Broken)?;
                    return Ok(FoundEnvironment {
                        environment: environment.clone(),
                        source: source.clone(),
                        branch: control.branch.clone(),
                        base: Base::Commit(commit),
                        definition: None,
                    });
                }
                continue;
            }
            if let Some(remote) = source.svn() {
                let is_it = control.kind == ControlKind::Svn
                    && is_below(&control.remote, &remote.shown())
                    && source.environment(&control.branch).as_ref() == Some(&of);
                if is_it {
                    return Ok(FoundEnvironment {
                        environment: environment.clone(),
                        source: source.clone(),
                        branch: control.branch.clone(),
                        base: Base::Svn {
                            address: Address {
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
            let listed = defined::read(source).await.map_err(|error| SourcesError {
                source_name: source.name.clone(),
                error: std::sync::Arc::new(error.into()),
            })?;
            let mut listed = listed.into_iter();
            let Some(definition) = listed.find(|it| it.environment == of) else {
                continue;
            };
            let base = match (&definition.base, control.kind) {
                (Base::Git { remote, .. }, ControlKind::Git)
                    if without_credentials(remote) == control.remote =>
                {
                    Base::Git {
                        remote: remote.clone(),
                        wanted: Wanted::Any(control.branch.clone()),
                    }
                }
                (Base::Svn { address, .. }, ControlKind::Svn)
                    if address.shown() == control.remote =>
                {
                    definition.base.clone()
                }
                (Base::Tarball { location, .. }, ControlKind::Tarball)
                    if without_credentials(location) == control.remote =>
                {
                    definition.base.clone()
                }
                (Base::Plain, ControlKind::Plain) => Base::Plain,
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

fn is_named(module: &Mod, name: &str) -> bool {
    is_module_name(&module.name.to_string(), name)
}

/// The live lock, with the modules that were resolved again.
fn renewed(environment: &EnvironmentName, live: VersionLock, fresh: VersionLock) -> VersionLock {
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
pub(super) fn is_as_it_was(kept: &LockedModule, file: &Puppetfile) -> bool {
    let mut named = file.mods.iter();
    let named = named.find(|module| file.directory(module) == kept.directory);
    match (&kept.origin, named.map(|module| &module.source)) {
        (ModuleOrigin::Git { remote, .. }, Some(Source::Git { remote: named, .. })) => {
            without_credentials(named) == *remote
        }
        (ModuleOrigin::Tarball { source, .. }, Some(Source::Tarball { location, .. })) => {
            without_credentials(location) == *source
        }
        (ModuleOrigin::Svn { remote, .. }, Some(Source::Svn { remote: named, .. })) => {
            without_credentials(named) == *remote
        }
        (ModuleOrigin::Forge { .. }, Some(Source::Forge(_)))
        | (ModuleOrigin::Local, Some(Source::Local)) => true,
        _ => false,
    }
}
