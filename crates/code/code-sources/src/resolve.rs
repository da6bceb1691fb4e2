//! Resolution of an environment's branch to its exact content. Main type: [`ResolveRound`].
//!
//! Invariants: in one round each repository is queried once, however many environments refer to it;
//! a commit or a tag that is stored locally is not queried at all; and the result depends on
//! nothing but the sources.

mod error;
mod resolved_control;
mod subversion;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future;
use puppetfile::{ForgeVersion, GitRef, ModuleDeclaration, ModuleSource, Puppetfile};
use tokio::sync::OnceCell;

pub use error::{EnvironmentResolveError, ModuleError};
pub use resolved_control::ResolvedControl;

use crate::archive::{ArchiveStore, ForgeServer, ForgeSettings, ReleaseSlug};
use crate::git::{CommitHash, GitError, GitMirror, GitMirrors, GitReference, GitRefs};
use crate::source::{self, EnvironmentBase, FoundEnvironment, filter};
use crate::svn::{SvnAddress, SvnProgram};
use code_store::version_lock::{LockedModule, ModuleOrigin, VersionLock};

/// The branches and tags of a repository, queried once.
type RefsQuery = Arc<OnceCell<Result<Arc<GitRefs>, Arc<GitError>>>>;

/// One query of all sources.
#[derive(Debug)]
pub struct ResolveRound {
    mirrors: GitMirrors,
    archives: ArchiveStore,
    svn: SvnProgram,
    ref_queries: Mutex<HashMap<String, RefsQuery>>,
    /// Results from Forges, and checksums of archives, by query.
    answers: Mutex<HashMap<ResolveQuery, QueryResult>>,
}

/// A query that is sent once in a round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ResolveQuery {
    /// The newest release of a module.
    Latest { forge: String, module: String },
    /// The checksum of a release.
    Release { forge: String, slug: String },
    /// The checksum of an archive.
    Archive { location: String },
    /// The number of a revision.
    Revision {
        url: String,
        username: Option<String>,
        wanted: String,
    },
}

/// The result of a query.
type QueryResult = Arc<OnceCell<Result<String, Arc<ModuleError>>>>;

/// Settings that decide what a Puppetfile resolves to.
#[derive(Clone, Debug)]
pub struct ResolveSettings {
    /// Branch, tag or commit of modules for which the Puppetfile names none.
    pub default_ref: Option<String>,
    /// True if modules come without their `spec` directories unless the Puppetfile sets otherwise.
    pub exclude_spec: bool,
    /// True if `puppet generate types` runs in the version, which makes it a different version.
    pub generate_types: bool,
    /// The Forge of modules without a source.
    pub forge: ForgeSettings,
}

/// An environment to resolve, with its settings.
#[derive(Debug, Clone, Copy)]
pub struct ResolveRequest<'a> {
    pub found: &'a FoundEnvironment,
    pub control: &'a ResolvedControl,
    /// The Puppetfile, including the modules of a list.
    pub file: &'a Puppetfile,
    pub settings: &'a ResolveSettings,
    /// The live version, whose releases of modules without a version are kept.
    pub live: Option<&'a VersionLock>,
}

// === impl ResolveRound ===

impl ResolveRound {
    /// A round that uses these copies.
    pub fn new(mirrors: GitMirrors, archives: ArchiveStore, svn: SvnProgram) -> Self {
        Self {
            mirrors,
            archives,
            svn,
            ref_queries: Mutex::default(),
            answers: Mutex::default(),
        }
    }

    /// The current branches and tags of a repository.
    pub async fn query_refs(&self, remote: &str) -> Result<Arc<GitRefs>, ModuleError> {
        let mirror = self.mirrors.mirror(remote)?;
        let asked = {
            let mut all = self
                .ref_queries
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(remote.to_owned()).or_default())
        };
        let answer =
            asked.get_or_init(|| async { self.mirrors.refresh(&mirror).await.map_err(Arc::new) });
        answer.await.clone().map_err(ModuleError::RefsQuery)
    }

    /// The branches of a source that its filter excludes.
    pub async fn filtered_branches(
        &self,
        source: &source::EnvironmentSource,
        refs: &GitRefs,
    ) -> Result<BTreeSet<String>, ModuleError> {
        let mut dropped = BTreeSet::new();
        let Some(command) = &source.filter_command else {
            return Ok(dropped);
        };
        let mirror = self.mirrors.mirror(&source.remote)?;
        for (branch, _) in refs.branches().filter(|(it, _)| !source.is_ignored(it)) {
            let keeps = filter::is_branch_kept(command, &source.name, branch, mirror.directory());
            if !keeps.await? {
                tracing::info!(branch, source = source.name, "the filter_command drops it");
                dropped.insert(branch.to_owned());
            }
        }
        Ok(dropped)
    }

    /// The current version of an environment's own files.
    pub async fn resolve_control(
        &self,
        found: &FoundEnvironment,
    ) -> Result<ResolvedControl, EnvironmentResolveError> {
        match &found.base {
            EnvironmentBase::Commit(commit) => Ok(ResolvedControl::Git {
                remote: found.source.remote.clone(),
                commit: commit.clone(),
            }),
            EnvironmentBase::Git { remote, wanted } => {
                let commit = self.resolve_commit(remote, wanted, None).await;
                Ok(ResolvedControl::Git {
                    remote: remote.clone(),
                    commit: commit
                        .map_err(|error| EnvironmentResolveError::Control(Arc::new(error)))?,
                })
            }
            EnvironmentBase::Svn { address, wanted } => {
                let revision = self.query_revision(address, wanted.as_deref()).await;
                Ok(ResolvedControl::Svn {
                    address: address.clone(),
                    revision: revision
                        .map_err(|error| EnvironmentResolveError::Control(Arc::new(error)))?,
                })
            }
            EnvironmentBase::Tarball { location, sha256 } => {
                let sha256 = self.query_checksum(location, sha256.as_deref()).await;
                Ok(ResolvedControl::Tarball {
                    location: location.clone(),
                    sha256: sha256
                        .map_err(|error| EnvironmentResolveError::Control(Arc::new(error)))?,
                })
            }
            EnvironmentBase::NoFiles => Ok(ResolvedControl::NoFiles),
        }
    }

    /// Resolves an environment to a lock.
    pub async fn resolve_lock(
        &self,
        wish: ResolveRequest<'_>,
    ) -> Result<VersionLock, EnvironmentResolveError> {
        let ResolveRequest {
            found,
            file,
            settings,
            ..
        } = wish;
        let modules = file.mods.iter().map(|module| async move {
            let origin = self.resolve_origin(module, wish).await;
            let name = module.name.to_string();
            match origin {
                Ok(origin) => Ok(LockedModule {
                    directory: file.module_directory(module),
                    exclude_spec: module.exclude_spec.unwrap_or(settings.exclude_spec),
                    origin,
                    name,
                }),
                Err(error) => Err((name, Arc::new(error))),
            }
        });
        let mut locked = Vec::with_capacity(file.mods.len());
        let mut failed = Vec::new();
        for module in future::join_all(modules).await {
            match module {
                Ok(module) => locked.push(module),
                Err(error) => failed.push(error),
            }
        }
        if !failed.is_empty() {
            return Err(EnvironmentResolveError::Modules(failed));
        }
        locked.sort_by(|one, other| one.directory.cmp(&other.directory));
        Ok(VersionLock {
            environment: found.environment.to_string(),
            control: wish.control.to_locked_control(found),
            modules: locked,
            generated_types: settings.generate_types,
        })
    }

    async fn resolve_origin(
        &self,
        module: &ModuleDeclaration,
        wish: ResolveRequest<'_>,
    ) -> Result<ModuleOrigin, ModuleError> {
        match &module.source {
            ModuleSource::Git {
                remote,
                reference,
                default_branch,
            } => {
                let wanted = required_reference(module, reference, wish)?;
                let commit = self
                    .resolve_commit(remote, &wanted, default_branch.as_deref())
                    .await?;
                Ok(ModuleOrigin::Git {
                    remote: crate::remote_address::strip_credentials(remote),
                    wanted: wanted.to_string(),
                    commit: commit.to_string(),
                })
            }
            ModuleSource::Local => Ok(ModuleOrigin::Local),
            ModuleSource::Forge(version) => self.resolve_release(module, version, wish).await,
            ModuleSource::Svn { .. } => {
                let (address, revision) = SvnAddress::from_module_source(&module.source)?;
                Ok(ModuleOrigin::Svn {
                    remote: address.to_public_url(),
                    revision: self.query_revision(&address, revision).await?,
                })
            }
            ModuleSource::Tarball { location, sha256 } => Ok(ModuleOrigin::Tarball {
                source: crate::remote_address::strip_credentials(location),
                sha256: self.query_checksum(location, sha256.as_deref()).await?,
            }),
        }
    }

    /// The checksum of an archive: the given one, or the one of its first download.
    async fn query_checksum(
        &self,
        location: &str,
        named: Option<&str>,
    ) -> Result<String, ModuleError> {
        if let Some(sha256) = named {
            return Ok(sha256.to_owned());
        }
        let question = ResolveQuery::Archive {
            location: location.to_owned(),
        };
        let ask = async { Ok(self.archives.archive_checksum(location).await?) };
        Box::pin(self.query_once(question, ask)).await
    }

    async fn resolve_release(
        &self,
        module: &ModuleDeclaration,
        version: &ForgeVersion,
        wish: ResolveRequest<'_>,
    ) -> Result<ModuleOrigin, ModuleError> {
        let named = wish.file.forge.as_deref();
        let forge = self.archives.forge_server(&wish.settings.forge, named)?;
        let name = module_slug(&module.name);
        let version = match version {
            ForgeVersion::Exact(version) => version.clone(),
            ForgeVersion::Latest => self.query_latest(&forge, &name).await?,
            ForgeVersion::Unpinned => match live_release(module, wish) {
                Some(version) => version,
                None => self.query_latest(&forge, &name).await?,
            },
        };
        let slug = ReleaseSlug {
            module: name,
            version,
        };
        let question = ResolveQuery::Release {
            forge: forge.to_public_url(),
            slug: slug.to_string(),
        };
        let ask = async { Ok(self.archives.release_checksum(&forge, &slug).await?) };
        let sha256 = Box::pin(self.query_once(question, ask));
        Ok(ModuleOrigin::Forge {
            sha256: sha256.await?,
            forge: forge.to_public_url(),
            version: slug.version,
        })
    }

    async fn query_latest(&self, forge: &ForgeServer, module: &str) -> Result<String, ModuleError> {
        let question = ResolveQuery::Latest {
            forge: forge.to_public_url(),
            module: module.to_owned(),
        };
        let ask = async { Ok(self.archives.query_latest(forge, module).await?) };
        Box::pin(self.query_once(question, ask)).await
    }

    /// Sends a query, unless it was sent in this round.
    async fn query_once(
        &self,
        question: ResolveQuery,
        ask: impl Future<Output = Result<String, ModuleError>>,
    ) -> Result<String, ModuleError> {
        let asked = {
            let answers = self.answers.lock();
            let mut answers = answers.unwrap_or_else(PoisonError::into_inner);
            Arc::clone(answers.entry(question).or_default())
        };
        let answer = asked.get_or_init(|| async { ask.await.map_err(Arc::new) });
        answer.await.clone().map_err(ModuleError::RepeatedQuery)
    }

    async fn resolve_commit(
        &self,
        remote: &str,
        wanted: &GitReference,
        default: Option<&str>,
    ) -> Result<CommitHash, ModuleError> {
        let mirror = self.mirrors.mirror(remote)?;
        if let Some(commit) = self.resolve_fixed_reference(&mirror, wanted).await? {
            return Ok(commit);
        }
        let refs = self.query_refs(remote).await?;
        if let Some(commit) = self
            .mirrors
            .resolve_reference(&mirror, &refs, wanted)
            .await?
        {
            return Ok(commit);
        }
        if let Some(commit) = self.fetch_unlisted_commit(&mirror, wanted).await {
            return Ok(commit);
        }
        let found = default.and_then(|default| refs.branch(default));
        found.cloned().ok_or_else(|| ModuleError::NoSuch {
            remote: mirror.to_public_url(),
            wanted: wanted.clone(),
            default: default.map(str::to_owned),
        })
    }

    /// Resolves a reference that never changes without a query.
    async fn resolve_fixed_reference(
        &self,
        mirror: &GitMirror,
        wanted: &GitReference,
    ) -> Result<Option<CommitHash>, ModuleError> {
        let is_fixed = match wanted {
            GitReference::Tag(_) => true,
            GitReference::Commit(name) | GitReference::Any(name) => {
                name.parse::<CommitHash>().is_ok()
            }
            GitReference::Branch(_) => false,
        };
        if !is_fixed {
            return Ok(None);
        }
        let Some(refs) = self.mirrors.read_refs(mirror).await? else {
            return Ok(None);
        };
        Ok(self
            .mirrors
            .resolve_reference(mirror, &refs, wanted)
            .await?)
    }

    /// A commit that is on no branch, such as one of a pull request.
    async fn fetch_unlisted_commit(
        &self,
        mirror: &GitMirror,
        wanted: &GitReference,
    ) -> Option<CommitHash> {
        let (GitReference::Commit(name) | GitReference::Any(name)) = wanted else {
            return None;
        };
        let commit: CommitHash = name.parse().ok()?;
        let fetched = self.mirrors.fetch_commit(mirror, &commit).await;
        fetched.is_ok().then_some(commit)
    }
}

/// The name of a module as `owner-name`.
pub(crate) fn module_slug(name: &puppetfile::ModName) -> String {
    let owner = name.owner.as_deref().unwrap_or_default();
    format!("{owner}-{}", name.name)
}

/// The release of a module in the live version.
fn live_release(module: &ModuleDeclaration, wish: ResolveRequest<'_>) -> Option<String> {
    let directory = wish.file.module_directory(module);
    let mut modules = wish.live?.modules.iter();
    let live = modules.find(|live| live.directory == directory)?;
    match &live.origin {
        ModuleOrigin::Forge { version, .. } if live.name == module.name.to_string() => {
            Some(version.clone())
        }
        _ => None,
    }
}

/// The reference of a repository that a module requires.
fn required_reference(
    module: &ModuleDeclaration,
    reference: &GitRef,
    wish: ResolveRequest<'_>,
) -> Result<GitReference, ModuleError> {
    let unnamed = || ModuleError::Unnamed {
        place: declaration_position(module, wish.found),
    };
    let default = |module: &ModuleDeclaration| match &module.source {
        ModuleSource::Git { default_branch, .. } => {
            default_branch.clone().map(GitReference::Branch)
        }
        _ => None,
    };
    match reference {
        GitRef::Any(name) => Ok(GitReference::Any(name.clone())),
        GitRef::Branch(name) => Ok(GitReference::Branch(name.clone())),
        GitRef::Tag(name) => Ok(GitReference::Tag(name.clone())),
        GitRef::Commit(name) => Ok(GitReference::Commit(name.clone())),
        GitRef::ControlBranch => {
            let branch = wish.found.control_branch();
            branch.or_else(|| default(module)).ok_or_else(unnamed)
        }
        GitRef::Unnamed => {
            let default = wish.settings.default_ref.clone();
            default.map(GitReference::Any).ok_or_else(unnamed)
        }
    }
}

/// The place where a module is declared, for messages.
fn declaration_position(module: &ModuleDeclaration, found: &FoundEnvironment) -> String {
    let line = module.at.line;
    let definition = found.definition.as_ref();
    match definition.filter(|definition| definition.modules.contains(module)) {
        Some(definition) => format!("line {line} of {}", definition.location),
        None => format!("line {line} of the Puppetfile"),
    }
}
