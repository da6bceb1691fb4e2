//! One deployment, from the branch to the switch. Main type: [`Deployer`].
//!
//! The steps: resolve, fetch missing content, build beside the live version, verify, sync to the disk, switch.
//! Invariant: until the switch, which is one rename, the live version is as it was; a failure before the switch
//! leaves only content that the next deployment reuses.

mod changed;
mod control;
mod gone;
mod modules;
mod named;
mod replaced;
mod restore;
mod room;
mod verified;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use environments::EnvironmentName;
use puppetfile::Puppetfile;
use tokio::sync::OnceCell;

use crate::error::{DeployError, OpenError, SourcesError};
use crate::staging;
use crate::types::generate;
use code_settings::{R10kFile, Settings};
use code_sources::archive::Archives;
use code_sources::git::{Git, GitMirrors};
use code_sources::manifest_syntax::verify_environment;
use code_sources::resolve::{FixedControl, ResolveRound, Wish};
use code_sources::source::{Environments, FoundEnvironment, SourceKind, defined};
use code_sources::source_trees::{CONTROL, Tree, TreeFetcher, Wanted};
use code_sources::svn::Svn;
use code_store::content::{Content, ContentError, Manifest, TreePath, failed};
use code_store::hold::{DirectoryLock, DirectoryLockHolder};
use code_store::lock::{LOCK_FILE, ModuleOrigin, VersionLock, staged_lock};
use code_store::r10k_deploy::{self, R10K_FILE};
use code_store::tree_notes::repositories_directory;
use code_store::version::{
    GENERATED_FILE, Layout, LayoutPart, VersionSignature, VersionSwitch, Versions, write_list,
};
use code_store::write_probe::{ProbeScope, WriteProbe};

pub use restore::RestoredVersion;
pub(crate) use verified::note as healed_note;

/// Builds versions of environments and switches to them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Deployer {
    shared: Arc<Shared>,
    /// The file of the settings, if it is read again before each deployment.
    file: Option<Arc<R10kFile>>,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    mirrors: GitMirrors,
    archives: Archives,
    svn: Svn,
    trees: TreeFetcher,
    versions: Versions,
    /// Puppetfiles that were read, by their origin and name: a commit's file never changes.
    puppetfiles: Mutex<HashMap<(String, String), Read>>,
    /// Versions whose files were compared with their hashes, or were built, by this process.
    verified: Arc<Mutex<HashSet<(EnvironmentName, VersionSignature)>>>,
}

/// A Puppetfile; `None`: the branch has none. Environments of one commit share it.
type Read = Arc<OnceCell<Option<Arc<Puppetfile>>>>;

/// A version that is built and can be made live.
#[derive(Clone, Debug)]
pub struct BuiltVersion {
    /// Environment of the version.
    pub environment: EnvironmentName,
    /// Signature that identifies the version.
    pub signature: VersionSignature,
    /// Commits, archives and revisions of the version.
    pub lock: VersionLock,
    /// True if the version existed before.
    pub was_there: bool,
    /// Paths of damaged files that were replaced, if the version existed before.
    pub healed: Vec<String>,
    /// Directories of the control repository that are not in the version.
    pub given_way: Vec<String>,
    /// Notes for users on parts that are not in the version: Puppetfile entries that a list overrides, and parts of
    /// modules' archives, noted when the archives are unpacked.
    pub notes: Vec<String>,
}

// === impl Deployer ===

impl Deployer {
    /// Opens the directories, and removes remains of an interrupted deployment. Waits until no other process
    /// deploys there.
    pub fn open(settings: Settings, git: Git) -> Result<Self, OpenError> {
        Self::open_telling(settings, git, |holder| {
            tracing::info!(pid = holder.pid, "another process deploys; waiting for it");
        })
    }

    /// The same; `waiting` is called once, if another process deploys there.
    pub fn open_telling(
        settings: Settings,
        git: Git,
        waiting: impl FnOnce(&DirectoryLockHolder),
    ) -> Result<Self, OpenError> {
        let directory = &settings.directory;
        let hold = DirectoryLock::take(directory, waiting)?;
        let content = Content::open(directory.join("content"))?;
        let versions = directory.join("versions");
        let versions = Versions::open(content, &versions, &settings.environments)?;
        let svn = Svn::new(hold.clone());
        let mirrors = GitMirrors::new(repositories_directory(directory), git, hold);
        let archives = Archives::new(
            directory,
            &settings.forge,
            settings.proxy.as_deref(),
            versions.content().clone(),
        );
        let trees = TreeFetcher::new(&mirrors, &archives, &svn, versions.content(), directory);
        Ok(Self {
            shared: Arc::new(Shared {
                settings,
                mirrors,
                archives,
                svn,
                trees,
                versions,
                puppetfiles: Mutex::default(),
                verified: Arc::default(),
            }),
            file: None,
        })
    }

    /// The probe of the directories that this deployer writes to.
    pub fn probe(&self) -> WriteProbe {
        let settings = &self.shared.settings;
        WriteProbe::new(&settings.directory, &settings.environments)
    }

    /// Fails if a directory cannot be written to, so that a deployment of the environment could not go live.
    pub async fn probe_writing(
        &self,
        environment: &EnvironmentName,
        scope: ProbeScope,
    ) -> Result<(), DeployError> {
        let (probe, environment) = (self.probe(), environment.clone());
        blocking(move || {
            let obstacles = probe.obstacles_of(&environment, scope);
            match obstacles.is_empty() {
                true => Ok(()),
                false => Err(DeployError::Unwritable(obstacles)),
            }
        })
        .await
    }

    /// Number of environments to deploy concurrently.
    pub fn at_once(&self) -> usize {
        self.shared.settings.at_once
    }

    /// Starts a resolve round over all sources.
    pub fn round(&self) -> ResolveRound {
        let shared = &self.shared;
        ResolveRound::new(
            shared.mirrors.clone(),
            shared.archives.clone(),
            shared.svn.clone(),
        )
    }

    /// The environments that the sources have. Fails if one source cannot be listed: otherwise its environments
    /// would look deleted.
    pub async fn environments(&self, round: &ResolveRound) -> Result<Environments, SourcesError> {
        let mut environments = Environments::default();
        for source in &self.shared.settings.sources {
            let failed = |error| SourcesError {
                source_name: source.name.clone(),
                error: Arc::new(error),
            };
            if source.kind == SourceKind::Git {
                let refs = round.refs(&source.remote).await.map_err(failed)?;
                let dropped = round.dropped(source, &refs).await.map_err(failed)?;
                let added = environments.add(source, &refs, &dropped);
                added.map_err(|error| failed(error.into()))?;
            } else if let Some(remote) = source.svn() {
                let branches = Box::pin(round.svn_branches(&remote)).await;
                let added = environments.add_svn(source, branches.map_err(failed)?);
                added.map_err(|error| failed(error.into()))?;
            } else {
                let listed = Box::pin(defined::read(source)).await;
                let listed = listed.map_err(|error| failed(error.into()))?;
                environments.add_defined(source, listed);
            }
        }
        Ok(environments)
    }

    /// The environments of a branch, in the sources with this prefix, or in all. Environments of lists have no
    /// branch.
    pub fn environments_of(&self, branch: &str, prefix: Option<&str>) -> Vec<EnvironmentName> {
        let sources = self.shared.settings.sources.iter();
        let sources = sources.filter(|source| source.kind == SourceKind::Git);
        let fitting = sources.filter(|source| {
            prefix.is_none_or(|prefix| source.prefix.as_deref().unwrap_or_default() == prefix)
        });
        let mut names: Vec<_> = fitting
            .filter_map(|source| source.environment(branch))
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// Builds the version of a branch's current state, beside the live one.
    pub async fn build(
        &self,
        found: &FoundEnvironment,
        round: &ResolveRound,
    ) -> Result<BuiltVersion, DeployError> {
        let fixed = Box::pin(round.fixed(found)).await?;
        let (file, notes) = Box::pin(self.file(found, &fixed)).await?;
        let live = self.shared.versions.live(&found.environment);
        let live = live.and_then(|live| self.shared.versions.lock(&found.environment, &live));
        let wish = Wish {
            found,
            fixed: &fixed,
            file: &file,
            settings: &self.shared.settings.resolving(),
            live: live.as_ref(),
        };
        let lock = round.lock(wish).await?;
        Box::pin(self.build_of(&fixed, lock, &file, notes)).await
    }

    /// Builds the version of a lock, unless it exists.
    async fn build_of(
        &self,
        fixed: &FixedControl,
        lock: VersionLock,
        file: &Puppetfile,
        notes: Vec<String>,
    ) -> Result<BuiltVersion, DeployError> {
        let environment: EnvironmentName =
            lock.environment.parse().map_err(|_| DeployError::Broken)?;
        let signature = lock.signature();
        let mut built = BuiltVersion {
            environment: environment.clone(),
            signature,
            lock,
            was_there: true,
            healed: Vec::new(),
            given_way: Vec::new(),
            notes,
        };
        if self.shared.versions.has(&environment, &built.signature) {
            Box::pin(self.verify_once(fixed, &mut built, file)).await?;
            return Ok(built);
        }
        built.was_there = false;
        let (layout, notes) = self.layout(fixed, &built.lock, file).await?;
        built.notes.extend(notes);
        built.given_way = layout.given_way().to_vec();
        let (versions, made) = (self.shared.versions.clone(), built.clone());
        let more = self.generate_types(&environment, &built.lock);
        blocking(move || {
            versions.build_with(&environment, &made.signature, &layout, more)?;
            Ok(())
        })
        .await?;
        self.note_verified(&built.environment, &built.signature);
        Ok(built)
    }

    /// Generates the types of a version in its directory, if its lock requires them.
    fn generate_types(
        &self,
        environment: &EnvironmentName,
        lock: &VersionLock,
    ) -> impl FnOnce(&Path) -> Result<(), DeployError> + Send + 'static {
        let types = self.shared.settings.generate_types.clone();
        let types = types.filter(|_| lock.generated_types);
        let (environment, runtime) = (environment.clone(), tokio::runtime::Handle::current());
        move |root| match &types {
            Some(types) => {
                runtime.block_on(generate(types, &environment, root))?;
                Ok(write_list(root)?)
            }
            None => Ok(()),
        }
    }

    /// Makes a version live.
    pub async fn switch(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> Result<VersionSwitch, DeployError> {
        let versions = self.shared.versions.clone();
        let (environment, signature) = (environment.clone(), signature.clone());
        blocking(move || Ok(versions.switch(&environment, &signature)?)).await
    }

    /// Copies a version of one environment to another environment.
    pub async fn copy(
        &self,
        from: &EnvironmentName,
        signature: &VersionSignature,
        to: &EnvironmentName,
    ) -> Result<(), DeployError> {
        let versions = self.shared.versions.clone();
        let (from, signature, to) = (from.clone(), signature.clone(), to.clone());
        blocking(move || Ok(versions.copy(&from, &signature, &to)?)).await
    }

    /// Builds a version from the files that another tool wrote into the staging directory; with the commit that r10k
    /// recorded there, if it did.
    pub async fn publish(
        &self,
        environment: &EnvironmentName,
    ) -> Result<(VersionSignature, Option<String>), DeployError> {
        let staging = self.shared.settings.staging.as_ref();
        let staging = staging.ok_or(DeployError::NoStaging)?;
        let root = staging.join("environments").join(environment.as_str());
        let (versions, environment) = (self.shared.versions.clone(), environment.clone());
        blocking(move || {
            let content = versions.content();
            let manifest = staging::read(content, &root)?;
            if let Some(unparsed) = verify_environment(content, &manifest)? {
                return Err(DeployError::Unparsed(unparsed));
            }
            let lock = staged_lock(environment.as_str(), &manifest);
            let signature = lock.signature();
            let layout = published_layout(&manifest, &lock)?;
            versions.build(&environment, &signature, &layout)?;
            let commit = r10k_deploy::commit(content, &manifest);
            Ok((signature, commit))
        })
        .await
    }

    /// The environments of the staging directory.
    pub(crate) fn staged(&self) -> Result<BTreeSet<EnvironmentName>, ContentError> {
        let Some(staging) = &self.shared.settings.staging else {
            return Ok(BTreeSet::new());
        };
        let directory = staging.join("environments");
        let read = failed("read", &directory);
        let entries = std::fs::read_dir(&directory).map_err(read)?;
        let names = entries.flatten().filter(|it| it.path().is_dir());
        let names = names.filter_map(|it| it.file_name().to_str()?.parse().ok());
        Ok(names.collect())
    }

    /// True if a staging directory is configured.
    pub(crate) fn has_staging(&self) -> bool {
        self.shared.settings.staging.is_some()
    }

    /// The versions in the code store.
    pub fn versions(&self) -> &Versions {
        &self.shared.versions
    }

    async fn layout(
        &self,
        fixed: &FixedControl,
        lock: &VersionLock,
        file: &Puppetfile,
    ) -> Result<(Layout, Vec<String>), DeployError> {
        let began = jiff::Timestamp::now();
        let wanted = Wanted {
            fixed,
            lock,
            file,
            forge: &self.shared.settings.forge,
        };
        let trees = self.shared.trees.all(wanted).await?;
        let none = Manifest::default();
        let control = match (fixed, trees.get(CONTROL)) {
            (FixedControl::Plain, _) => &none,
            (_, Some(tree)) => tree.manifest().ok_or(DeployError::Broken)?,
            (_, None) => return Err(DeployError::Broken),
        };
        let mut parts = Vec::with_capacity(lock.modules.len());
        for module in &lock.modules {
            match (&module.origin, trees.get(&module.directory)) {
                (ModuleOrigin::Local, _) => {
                    let is_there = |path: &TreePath| path.is_below(module.directory.as_bytes());
                    if !control.entries().any(|(path, _)| is_there(path)) {
                        return Err(DeployError::NoLocal {
                            module: module.name.clone(),
                            directory: module.directory.clone(),
                        });
                    }
                }
                (_, Some(tree)) => parts.push(LayoutPart {
                    directory: module.directory.clone(),
                    manifest: tree.manifest().ok_or(DeployError::Broken)?,
                    exclude_spec: module.exclude_spec,
                }),
                (_, None) => return Err(DeployError::Broken),
            }
        }
        let mut layout = Layout::new(control, &parts)?;
        let text = serde_json::to_vec_pretty(lock).map_err(|_| DeployError::Broken)?;
        let path = TreePath::new(LOCK_FILE.as_bytes()).map_err(|_| DeployError::Broken)?;
        layout.write(path, text);
        let path = TreePath::new(R10K_FILE.as_bytes()).map_err(|_| DeployError::Broken)?;
        layout.write(path, r10k_deploy::note(lock, began));
        layout.leave_out(GENERATED_FILE.as_bytes());
        let mut notes: Vec<String> = trees.values().flat_map(Tree::notes).collect();
        notes.sort();
        Ok((layout, notes))
    }
}

/// The layout of a version of a published environment.
fn published_layout(manifest: &Manifest, lock: &VersionLock) -> Result<Layout, DeployError> {
    let mut layout = Layout::new(manifest, &[])?;
    let text = serde_json::to_vec_pretty(lock).map_err(|_| DeployError::Broken)?;
    let path = TreePath::new(LOCK_FILE.as_bytes()).map_err(|_| DeployError::Broken)?;
    layout.write(path, text);
    Ok(layout)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DeployError> + Send + 'static,
) -> Result<T, DeployError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or(Err(DeployError::Broken))
}
