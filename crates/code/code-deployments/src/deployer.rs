//! One deployment, from the branch to the switch. Main type: [`Deployer`].
//!
//! The steps: resolve, fetch missing content, build beside the live version, verify, sync to the
//! disk, switch. Invariant: until the switch, which is one rename, the live version is as it was; a
//! failure before the switch leaves only content that the next deployment reuses.

mod control_only;
mod declared_modules;
mod gc;
mod modules;
mod reloaded_settings;
mod removal;
mod repair;
mod replaced_functions;
mod verification;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use environments::EnvironmentName;
use puppetfile::Puppetfile;
use tokio::sync::OnceCell;

use crate::error::{DeployerOpenError, DeploymentError, SourcesError};
use crate::staging;
use crate::types::generate;
use code_settings::{DeploymentSettings, R10kFile};
use code_sources::archive::ArchiveStore;
use code_sources::git::{GitMirrors, GitProgram};
use code_sources::manifest_syntax::verify_environment;
use code_sources::resolve::{ResolveRequest, ResolveRound, ResolvedControl};
use code_sources::source::{FoundEnvironment, FoundEnvironments, SourceKind, definition_lists};
use code_sources::source_trees::{CONTROL, FetchedTree, TreeFetcher, VersionContent};
use code_sources::svn::SvnProgram;
use code_store::content::{ContentError, ContentStore, TreeManifest, TreePath, content_error};
use code_store::directory_lock::{DirectoryLock, DirectoryLockHolder};
use code_store::low_priority::run_at_low_priority;
use code_store::r10k_deploy_file::{self, R10K_FILE};
use code_store::tree_notes::repositories_directory;
use code_store::version::{
    GENERATED_FILE, LayoutPart, VersionLayout, VersionSignature, VersionStore, VersionSwitch,
    write_generated_types_list,
};
use code_store::version_lock::{LOCK_FILE, ModuleOrigin, VersionLock, staged_lock};
use code_store::write_probe::{ProbeScope, WriteProbe};

pub use repair::RestoredVersion;
pub(crate) use verification::note as healed_note;

/// Builds versions of environments and switches to them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Deployer {
    shared: Arc<DeployerShared>,
    /// The file of the settings, if it is read again before each deployment.
    file: Option<Arc<R10kFile>>,
}

#[derive(Debug)]
struct DeployerShared {
    settings: DeploymentSettings,
    mirrors: GitMirrors,
    archives: ArchiveStore,
    svn: SvnProgram,
    trees: TreeFetcher,
    versions: VersionStore,
    /// Puppetfiles that were read, by their origin and name: a commit's file never changes.
    puppetfiles: Mutex<HashMap<(String, String), SharedPuppetfile>>,
    /// Versions whose files were compared with their hashes, or were built, by this process.
    verified: Arc<Mutex<HashSet<(EnvironmentName, VersionSignature)>>>,
}

/// A Puppetfile; `None`: the branch has none. Environments of one commit share it.
type SharedPuppetfile = Arc<OnceCell<Option<Arc<Puppetfile>>>>;

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
    pub existed_before: bool,
    /// Paths of damaged files that were replaced, if the version existed before.
    pub healed: Vec<String>,
    /// Directories of the control repository that are not in the version.
    pub omitted_directories: Vec<String>,
    /// Notes for users on parts that are not in the version: Puppetfile entries that a list
    /// overrides, and parts of modules' archives, noted when the archives are unpacked.
    pub notes: Vec<String>,
}

// === impl Deployer ===

impl Deployer {
    /// Opens the directories, and removes remains of an interrupted deployment. Waits until no
    /// other process deploys there.
    pub fn open(settings: DeploymentSettings, git: GitProgram) -> Result<Self, DeployerOpenError> {
        Self::open_reporting_holder(settings, git, |holder| {
            tracing::info!(pid = holder.pid, "another process deploys; waiting for it");
        })
    }

    /// Opens the directories; `waiting` is called once, if another process deploys there.
    pub fn open_reporting_holder(
        settings: DeploymentSettings,
        git: GitProgram,
        waiting: impl FnOnce(&DirectoryLockHolder),
    ) -> Result<Self, DeployerOpenError> {
        let directory = &settings.directory;
        let hold = DirectoryLock::acquire(directory, waiting)?;
        let content = ContentStore::open(directory.join("content"))?;
        let versions = directory.join("versions");
        let versions = VersionStore::open(content, &versions, &settings.environments)?;
        let svn = SvnProgram::new(hold.clone());
        let mirrors = GitMirrors::new(repositories_directory(directory), git, hold);
        let archives = ArchiveStore::new(
            directory,
            &settings.forge,
            settings.proxy.as_deref(),
            versions.content().clone(),
        );
        let trees = TreeFetcher::new(&mirrors, &archives, &svn, versions.content(), directory);
        Ok(Self {
            shared: Arc::new(DeployerShared {
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

    /// Fails if a directory cannot be written to, so that a deployment of the environment could not
    /// go live.
    pub async fn probe_writing(
        &self,
        environment: &EnvironmentName,
        scope: ProbeScope,
    ) -> Result<(), DeploymentError> {
        let (probe, environment) = (self.probe(), environment.clone());
        run_blocking(move || {
            let obstacles = probe.environment_obstacles(&environment, scope);
            match obstacles.is_empty() {
                true => Ok(()),
                false => Err(DeploymentError::Unwritable(obstacles)),
            }
        })
        .await
    }

    /// Number of environments to deploy concurrently.
    pub fn concurrency(&self) -> usize {
        self.shared.settings.at_once
    }

    /// Starts a resolve round over all sources.
    pub fn start_round(&self) -> ResolveRound {
        let shared = &self.shared;
        ResolveRound::new(
            shared.mirrors.clone(),
            shared.archives.clone(),
            shared.svn.clone(),
        )
    }

    /// The environments that the sources have. Fails if one source cannot be listed: otherwise its
    /// environments would look deleted.
    pub async fn list_environments(
        &self,
        round: &ResolveRound,
    ) -> Result<FoundEnvironments, SourcesError> {
        let mut environments = FoundEnvironments::default();
        for source in &self.shared.settings.sources {
            let failed = |error| SourcesError {
                source_name: source.name.clone(),
                error: Arc::new(error),
            };
            if source.kind == SourceKind::Git {
                let refs = round.query_refs(&source.remote).await.map_err(failed)?;
                let dropped = round
                    .filtered_branches(source, &refs)
                    .await
                    .map_err(failed)?;
                let added = environments.add(source, &refs, &dropped);
                added.map_err(|error| failed(error.into()))?;
            } else if let Some(remote) = source.svn_address() {
                let branches = Box::pin(round.svn_branches(&remote)).await;
                let added = environments.add_svn(source, branches.map_err(failed)?);
                added.map_err(|error| failed(error.into()))?;
            } else {
                let listed = Box::pin(definition_lists::read(source)).await;
                let listed = listed.map_err(|error| failed(error.into()))?;
                environments.add_defined(source, listed);
            }
        }
        Ok(environments)
    }

    /// The environments of a branch, in the sources with this prefix, or in all. Environments of
    /// lists have no branch.
    pub fn environments_of_branch(
        &self,
        branch: &str,
        prefix: Option<&str>,
    ) -> Vec<EnvironmentName> {
        let sources = self.shared.settings.sources.iter();
        let sources = sources.filter(|source| source.kind == SourceKind::Git);
        let fitting = sources.filter(|source| {
            prefix.is_none_or(|prefix| source.prefix.as_deref().unwrap_or_default() == prefix)
        });
        let mut names: Vec<_> = fitting
            .filter_map(|source| source.environment_name(branch))
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
    ) -> Result<BuiltVersion, DeploymentError> {
        let fixed = Box::pin(round.resolve_control(found)).await?;
        let (file, notes) = Box::pin(self.environment_puppetfile(found, &fixed)).await?;
        let live = self.shared.versions.live_version(&found.environment);
        let live = live.and_then(|live| self.shared.versions.read_lock(&found.environment, &live));
        let wish = ResolveRequest {
            found,
            control: &fixed,
            file: &file,
            settings: &self.shared.settings.to_resolve_settings(),
            live: live.as_ref(),
        };
        let lock = round.resolve_lock(wish).await?;
        Box::pin(self.build_lock(&fixed, lock, &file, notes)).await
    }

    /// Builds the version of a lock, unless it exists.
    async fn build_lock(
        &self,
        fixed: &ResolvedControl,
        lock: VersionLock,
        file: &Puppetfile,
        notes: Vec<String>,
    ) -> Result<BuiltVersion, DeploymentError> {
        let environment: EnvironmentName = lock
            .environment
            .parse()
            .map_err(|_| DeploymentError::Internal)?;
        let signature = lock.signature();
        let mut built = BuiltVersion {
            environment: environment.clone(),
            signature,
            lock,
            existed_before: true,
            healed: Vec::new(),
            omitted_directories: Vec::new(),
            notes,
        };
        if self.shared.versions.has(&environment, &built.signature) {
            Box::pin(self.verify_once(fixed, &mut built, file)).await?;
            return Ok(built);
        }
        built.existed_before = false;
        let (layout, notes) = self.fetch_layout(fixed, &built.lock, file).await?;
        built.notes.extend(notes);
        built.omitted_directories = layout.omitted_directories().to_vec();
        let (versions, made) = (self.shared.versions.clone(), built.clone());
        let more = self.generate_types(&environment, &built.lock);
        run_in_background(move || {
            versions.build_with(&environment, &made.signature, &layout, more)?;
            Ok(())
        })
        .await?;
        self.record_verified(&built.environment, &built.signature);
        Ok(built)
    }

    /// Generates the types of a version in its directory, if its lock requires them.
    fn generate_types(
        &self,
        environment: &EnvironmentName,
        lock: &VersionLock,
    ) -> impl FnOnce(&Path) -> Result<(), DeploymentError> + Send + 'static {
        let types = self.shared.settings.generate_types.clone();
        let types = types.filter(|_| lock.generated_types);
        let (environment, runtime) = (environment.clone(), tokio::runtime::Handle::current());
        move |root| match &types {
            Some(types) => {
                runtime.block_on(generate(types, &environment, root))?;
                Ok(write_generated_types_list(root)?)
            }
            None => Ok(()),
        }
    }

    /// Makes a version live.
    pub async fn switch(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> Result<VersionSwitch, DeploymentError> {
        let versions = self.shared.versions.clone();
        let (environment, signature) = (environment.clone(), signature.clone());
        run_blocking(move || Ok(versions.switch(&environment, &signature)?)).await
    }

    /// Copies a version of one environment to another environment.
    pub async fn copy(
        &self,
        from: &EnvironmentName,
        signature: &VersionSignature,
        to: &EnvironmentName,
    ) -> Result<(), DeploymentError> {
        let versions = self.shared.versions.clone();
        let (from, signature, to) = (from.clone(), signature.clone(), to.clone());
        run_blocking(move || Ok(versions.copy(&from, &signature, &to)?)).await
    }

    /// Builds a version from the files that another tool wrote into the staging directory; with the
    /// commit that r10k recorded there, if it did.
    pub async fn publish(
        &self,
        environment: &EnvironmentName,
    ) -> Result<(VersionSignature, Option<String>), DeploymentError> {
        let staging = self.shared.settings.staging.as_ref();
        let staging = staging.ok_or(DeploymentError::NoStaging)?;
        let root = staging.join("environments").join(environment.as_str());
        let (versions, environment) = (self.shared.versions.clone(), environment.clone());
        run_blocking(move || {
            let content = versions.content();
            let manifest = staging::read(content, &root)?;
            if let Some(unparsed) = verify_environment(content, &manifest)? {
                return Err(DeploymentError::Unparsed(unparsed));
            }
            let lock = staged_lock(environment.as_str(), &manifest);
            let signature = lock.signature();
            let layout = published_layout(&manifest, &lock)?;
            versions.build(&environment, &signature, &layout)?;
            let commit = r10k_deploy_file::recorded_commit(content, &manifest);
            Ok((signature, commit))
        })
        .await
    }

    /// The environments of the staging directory.
    pub(crate) fn staged_environments(&self) -> Result<BTreeSet<EnvironmentName>, ContentError> {
        let Some(staging) = &self.shared.settings.staging else {
            return Ok(BTreeSet::new());
        };
        let directory = staging.join("environments");
        let read = content_error("read", &directory);
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
    pub fn versions(&self) -> &VersionStore {
        &self.shared.versions
    }

    async fn fetch_layout(
        &self,
        fixed: &ResolvedControl,
        lock: &VersionLock,
        file: &Puppetfile,
    ) -> Result<(VersionLayout, Vec<String>), DeploymentError> {
        let began = jiff::Timestamp::now();
        let wanted = VersionContent {
            control: fixed,
            lock,
            file,
            forge: &self.shared.settings.forge,
        };
        let trees = self.shared.trees.fetch_all(wanted).await?;
        let none = TreeManifest::default();
        let control = match (fixed, trees.get(CONTROL)) {
            (ResolvedControl::NoFiles, _) => &none,
            (_, Some(tree)) => tree.manifest().ok_or(DeploymentError::Internal)?,
            (_, None) => return Err(DeploymentError::Internal),
        };
        let mut parts = Vec::with_capacity(lock.modules.len());
        for module in &lock.modules {
            match (&module.origin, trees.get(&module.directory)) {
                (ModuleOrigin::Local, _) => {
                    let is_there = |path: &TreePath| path.is_below(module.directory.as_bytes());
                    if !control.entries().any(|(path, _)| is_there(path)) {
                        return Err(DeploymentError::NoLocal {
                            module: module.name.clone(),
                            directory: module.directory.clone(),
                        });
                    }
                }
                (_, Some(tree)) => parts.push(LayoutPart {
                    directory: module.directory.clone(),
                    manifest: tree.manifest().ok_or(DeploymentError::Internal)?,
                    exclude_spec: module.exclude_spec,
                }),
                (_, None) => return Err(DeploymentError::Internal),
            }
        }
        let mut layout = VersionLayout::new(control, &parts)?;
        let text = serde_json::to_vec_pretty(lock).map_err(|_| DeploymentError::Internal)?;
        let path = TreePath::new(LOCK_FILE.as_bytes()).map_err(|_| DeploymentError::Internal)?;
        layout.write(path, text);
        let path = TreePath::new(R10K_FILE.as_bytes()).map_err(|_| DeploymentError::Internal)?;
        layout.write(path, r10k_deploy_file::deploy_file(lock, began));
        layout.exclude(GENERATED_FILE.as_bytes());
        let mut notes: Vec<String> = trees.values().flat_map(FetchedTree::notes).collect();
        notes.sort();
        Ok((layout, notes))
    }
}

/// The layout of a version of a published environment.
fn published_layout(
    manifest: &TreeManifest,
    lock: &VersionLock,
) -> Result<VersionLayout, DeploymentError> {
    let mut layout = VersionLayout::new(manifest, &[])?;
    let text = serde_json::to_vec_pretty(lock).map_err(|_| DeploymentError::Internal)?;
    let path = TreePath::new(LOCK_FILE.as_bytes()).map_err(|_| DeploymentError::Internal)?;
    layout.write(path, text);
    Ok(layout)
}

/// Does work on a blocking thread to which the scheduler prefers those that answer requests.
async fn run_in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DeploymentError> + Send + 'static,
) -> Result<T, DeploymentError> {
    run_blocking(|| run_at_low_priority(work)).await
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DeploymentError> + Send + 'static,
) -> Result<T, DeploymentError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or(Err(DeploymentError::Internal))
}
