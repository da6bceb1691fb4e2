//! Resolution of an environment's branch to its exact content. Main type: [`ResolveRound`].
//!
//! Invariants: in one round each repository is queried once, however many environments refer to it;
//! a commit or a tag that is stored locally is not queried at all; and the result depends on
//! nothing but the sources.

mod error;
mod fixed;
mod subversion;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future;
use puppetfile::{ForgeVersion, GitRef, Mod, Puppetfile, Source};
use tokio::sync::OnceCell;

pub use error::{ModuleError, ResolveError};
pub use fixed::FixedControl;

use crate::archive::{Archives, Forge, ForgeSettings, Slug};
use crate::git::{Commit, GitError, GitMirror, GitMirrors, Refs, Wanted};
use crate::source::{self, Base, FoundEnvironment, filter};
use crate::svn::{Address, Svn};
use code_store::lock::{LockedModule, ModuleOrigin, VersionLock};

/// The branches and tags of a repository, queried once.
type Asked = Arc<OnceCell<Result<Arc<Refs>, Arc<GitError>>>>;

/// One query of all sources.
#[derive(Debug)]
pub struct ResolveRound {
    mirrors: GitMirrors,
    archives: Archives,
    svn: Svn,
    asked: Mutex<HashMap<String, Asked>>,
    /// Results from Forges, and checksums of archives, by query.
    answers: Mutex<HashMap<Question, Answer>>,
}

/// A query that is sent once in a round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Question {
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
type Answer = Arc<OnceCell<Result<String, Arc<ModuleError>>>>;

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
pub struct Wish<'a> {
    pub found: &'a FoundEnvironment,
    pub fixed: &'a FixedControl,
    /// The Puppetfile, including the modules of a list.
    pub file: &'a Puppetfile,
    pub settings: &'a ResolveSettings,
    /// The live version, whose releases of modules without a version are kept.
    pub live: Option<&'a VersionLock>,
}

// === impl ResolveRound ===

impl ResolveRound {
    /// A round that uses these copies.
    pub fn new(mirrors: GitMirrors, archives: Archives, svn: Svn) -> Self {
        Self {
            mirrors,
            archives,
            svn,
            asked: Mutex::default(),
            answers: Mutex::default(),
        }
    }

    /// The current branches and tags of a repository.
    pub async fn refs(&self, remote: &str) -> Result<Arc<Refs>, ModuleError> {
        let mirror = self.mirrors.mirror(remote)?;
        let asked = {
            let mut all = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(remote.to_owned()).or_default())
        };
        let answer =
            asked.get_or_init(|| async { self.mirrors.refresh(&mirror).await.map_err(Arc::new) });
        answer.await.clone().map_err(ModuleError::Asked)
    }

    /// The branches of a source that its filter excludes.
    pub async fn dropped(
        &self,
        source: &source::Source,
        refs: &Refs,
    ) -> Result<BTreeSet<String>, ModuleError> {
        let mut dropped = BTreeSet::new();
        let Some(command) = &source.filter_command else {
            return Ok(dropped);
        };
        let mirror = self.mirrors.mirror(&source.remote)?;
        for (branch, _) in refs.branches().filter(|(it, _)| !source.is_ignored(it)) {
            let keeps = filter::keeps(command, &source.name, branch, mirror.directory());
            if !keeps.await? {
                tracing::info!(branch, source = source.name, "the filter_command drops it");
                dropped.insert(branch.to_owned());
            }
        }
        Ok(dropped)
    }

    /// The current version of an environment's own files.
    pub async fn fixed(&self, found: &FoundEnvironment) -> Result<FixedControl, ResolveError> {
        match &found.base {
            Base::Commit(commit) => Ok(FixedControl::Git {
                remote: found.source.remote.clone(),
                commit: commit.clone(),
            }),
            Base::Git { remote, wanted } => {
                let commit = self.commit(remote, wanted, None).await;
                Ok(FixedControl::Git {
                    remote: remote.clone(),
                    commit: commit.map_err(|error| ResolveError::Control(Arc::new(error)))?,
                })
            }
            Base::Svn { address, wanted } => {
                let revision = self.revision(address, wanted.as_deref()).await;
                Ok(FixedControl::Svn {
                    address: address.clone(),
                    revision: revision.map_err(|error| ResolveError::Control(Arc::new(error)))?,
                })
            }
            Base::Tarball { location, sha256 } => {
                let sha256 = self.checksum(location, sha256.as_deref()).await;
                Ok(FixedControl::Tarball {
                    location: location.clone(),
                    sha256: sha256.map_err(|error| ResolveError::Control(Arc::new(error)))?,
                })
            }
            Base::Plain => Ok(FixedControl::Plain),
        }
    }

    /// Resolves an environment to a lock.
    pub async fn lock(&self, wish: Wish<'_>) -> Result<VersionLock, ResolveError> {
        let Wish {
            found,
            file,
            settings,
            ..
        } = wish;
        let modules = file.mods.iter().map(|module| async move {
            let origin = self.origin(module, wish).await;
            let name = module.name.to_string();
            match origin {
                Ok(origin) => Ok(LockedModule {
                    directory: file.directory(module),
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
            return Err(ResolveError::Modules(failed));
        }
        locked.sort_by(|one, other| one.directory.cmp(&other.directory));
        Ok(VersionLock {
            environment: found.environment.to_string(),
            control: wish.fixed.control(found),
            modules: locked,
            generated_types: settings.generate_types,
        })
    }

    async fn origin(&self, module: &Mod, wish: Wish<'_>) -> Result<ModuleOrigin, ModuleError> {
        match &module.source {
            Source::Git {
                remote,
                reference,
                default_branch,
            } => {
                let wanted = wanted(module, reference, wish)?;
                let commit = self
                    .commit(remote, &wanted, default_branch.as_deref())
                    .await?;
                Ok(ModuleOrigin::Git {
                    remote: crate::remote_address::without_credentials(remote),
                    wanted: wanted.to_string(),
                    commit: commit.to_string(),
                })
            }
            Source::Local => Ok(ModuleOrigin::Local),
            Source::Forge(version) => self.release(module, version, wish).await,
            Source::Svn { .. } => {
                let (address, revision) = Address::of(&module.source)?;
                Ok(ModuleOrigin::Svn {
                    remote: address.shown(),
                    revision: self.revision(&address, revision).await?,
                })
            }
            Source::Tarball { location, sha256 } => Ok(ModuleOrigin::Tarball {
                source: crate::remote_address::without_credentials(location),
                sha256: self.checksum(location, sha256.as_deref()).await?,
            }),
        }
    }

    /// The checksum of an archive: the given one, or the one of its first download.
    async fn checksum(&self, location: &str, named: Option<&str>) -> Result<String, ModuleError> {
        if let Some(sha256) = named {
            return Ok(sha256.to_owned());
        }
        let question = Question::Archive {
            location: location.to_owned(),
        };
        let ask = async { Ok(self.archives.archive(location).await?) };
        Box::pin(self.once(question, ask)).await
    }

    async fn release(
        &self,
        module: &Mod,
        version: &ForgeVersion,
        wish: Wish<'_>,
    ) -> Result<ModuleOrigin, ModuleError> {
        let named = wish.file.forge.as_deref();
        let forge = self.archives.forge(&wish.settings.forge, named)?;
        let name = slug(&module.name);
        let version = match version {
            ForgeVersion::Exact(version) => version.clone(),
            ForgeVersion::Latest => self.latest(&forge, &name).await?,
            ForgeVersion::Unpinned => match deployed(module, wish) {
                Some(version) => version,
                None => self.latest(&forge, &name).await?,
            },
        };
        let slug = Slug {
            module: name,
            version,
        };
        let question = Question::Release {
            forge: forge.shown(),
            slug: slug.to_string(),
        };
        let ask = async { Ok(self.archives.release(&forge, &slug).await?) };
        let sha256 = Box::pin(self.once(question, ask));
        Ok(ModuleOrigin::Forge {
            sha256: sha256.await?,
            forge: forge.shown(),
            version: slug.version,
        })
    }

    async fn latest(&self, forge: &Forge, module: &str) -> Result<String, ModuleError> {
        let question = Question::Latest {
            forge: forge.shown(),
            module: module.to_owned(),
        };
        let ask = async { Ok(self.archives.latest(forge, module).await?) };
        Box::pin(self.once(question, ask)).await
    }

    /// Sends a query, unless it was sent in this round.
    async fn once(
        &self,
        question: Question,
        ask: impl Future<Output = Result<String, ModuleError>>,
    ) -> Result<String, ModuleError> {
        let asked = {
            let answers = self.answers.lock();
            let mut answers = answers.unwrap_or_else(PoisonError::into_inner);
            Arc::clone(answers.entry(question).or_default())
        };
        let answer = asked.get_or_init(|| async { ask.await.map_err(Arc::new) });
        answer.await.clone().map_err(ModuleError::Again)
    }

    async fn commit(
        &self,
        remote: &str,
        wanted: &Wanted,
        default: Option<&str>,
    ) -> Result<Commit, ModuleError> {
        let mirror = self.mirrors.mirror(remote)?;
        if let Some(commit) = self.here(&mirror, wanted).await? {
            return Ok(commit);
        }
        let refs = self.refs(remote).await?;
        if let Some(commit) = self.mirrors.find(&mirror, &refs, wanted).await? {
            return Ok(commit);
        }
        if let Some(commit) = self.unlisted(&mirror, wanted).await {
            return Ok(commit);
        }
        let found = default.and_then(|default| refs.branch(default));
        found.cloned().ok_or_else(|| ModuleError::NoSuch {
            remote: mirror.shown(),
            wanted: wanted.clone(),
            default: default.map(str::to_owned),
        })
    }

    /// Resolves a reference that never changes without a query.
    async fn here(
        &self,
        mirror: &GitMirror,
        wanted: &Wanted,
    ) -> Result<Option<Commit>, ModuleError> {
        let is_fixed = match wanted {
            Wanted::Tag(_) => true,
            Wanted::Commit(name) | Wanted::Any(name) => name.parse::<Commit>().is_ok(),
            Wanted::Branch(_) => false,
        };
        if !is_fixed {
            return Ok(None);
        }
        let Some(refs) = self.mirrors.known(mirror).await? else {
            return Ok(None);
        };
        Ok(self.mirrors.find(mirror, &refs, wanted).await?)
    }

    /// A commit that is on no branch, such as one of a pull request.
    async fn unlisted(&self, mirror: &GitMirror, wanted: &Wanted) -> Option<Commit> {
        let (Wanted::Commit(name) | Wanted::Any(name)) = wanted else {
            return None;
        };
        let commit: Commit = name.parse().ok()?;
        let fetched = self.mirrors.fetch_commit(mirror, &commit).await;
        fetched.is_ok().then_some(commit)
    }
}

/// The name of a module as `owner-name`.
pub(crate) fn slug(name: &puppetfile::ModName) -> String {
    let owner = name.owner.as_deref().unwrap_or_default();
    format!("{owner}-{}", name.name)
}

/// The release of a module in the live version.
fn deployed(module: &Mod, wish: Wish<'_>) -> Option<String> {
    let directory = wish.file.directory(module);
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
fn wanted(module: &Mod, reference: &GitRef, wish: Wish<'_>) -> Result<Wanted, ModuleError> {
    let unnamed = || ModuleError::Unnamed {
        place: place(module, wish.found),
    };
    let default = |module: &Mod| match &module.source {
        Source::Git { default_branch, .. } => default_branch.clone().map(Wanted::Branch),
        _ => None,
    };
    match reference {
        GitRef::Any(name) => Ok(Wanted::Any(name.clone())),
        GitRef::Branch(name) => Ok(Wanted::Branch(name.clone())),
        GitRef::Tag(name) => Ok(Wanted::Tag(name.clone())),
        GitRef::Commit(name) => Ok(Wanted::Commit(name.clone())),
        GitRef::ControlBranch => {
            let branch = wish.found.control_branch();
            branch.or_else(|| default(module)).ok_or_else(unnamed)
        }
        GitRef::Unnamed => {
            let default = wish.settings.default_ref.clone();
            default.map(Wanted::Any).ok_or_else(unnamed)
        }
    }
}

/// The place where a module is declared, for messages.
fn place(module: &Mod, found: &FoundEnvironment) -> String {
    let line = module.at.line;
    let definition = found.definition.as_ref();
    match definition.filter(|definition| definition.modules.contains(module)) {
        Some(definition) => format!("line {line} of {}", definition.place),
        None => format!("line {line} of the Puppetfile"),
    }
}
