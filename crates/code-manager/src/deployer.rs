//! One deployment, from the branch to the switch. Main type: [`Deployer`].
//!
//! Resolve, fetch what is missing, build beside, look at it, write it to the disk, switch. The rule that
//! must hold: until the switch, which is one rename, the live version is as it was; whatever fails before
//! it leaves nothing but content that the next deployment finds.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use deploy::EnvironmentName;
use puppetfile::Puppetfile;
use tokio::task::JoinSet;

use crate::content::{Content, ContentError, Manifest, TreeId, TreePath};
use crate::defaults::PUPPETFILES;
use crate::error::{DeployError, OpenError, SourcesError};
use crate::git::{Commit, Git, Mirror, Mirrors, read_file, take_in};
use crate::hold::{Hold, Holder};
use crate::lock::{LOCK_FILE, Lock, Origin};
use crate::resolve::{ResolveError, Round};
use crate::settings::Settings;
use crate::source::{Environments, Found};
use crate::verify::verify;
use crate::version::{Layout, Part, Signature, Switched, Versions};

/// Makes versions of environments and switches to them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Deployer {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    mirrors: Mirrors,
    versions: Versions,
    /// Those that were read, by commits and names: a commit's file never changes.
    puppetfiles: Mutex<HashMap<(Commit, String), Arc<Puppetfile>>>,
}

/// A version that is ready.
#[derive(Clone, Debug)]
pub struct Built {
    /// Of what.
    pub environment: EnvironmentName,
    /// Its name.
    pub signature: Signature,
    /// What it is made of.
    pub lock: Lock,
    /// Whether it was there before.
    pub was_there: bool,
    /// Directories of the control repository that are not in it.
    pub given_way: Vec<String>,
}

/// A tree, and where it comes from.
type Tree = (TreeId, Manifest);

// === impl Deployer ===

impl Deployer {
    /// Opens the directories; what an interrupted deployment left behind is removed. Waits until no other
    /// process deploys there.
    pub fn open(settings: Settings, git: Git) -> Result<Self, OpenError> {
        Self::open_telling(settings, git, |holder| {
            tracing::info!(pid = holder.pid, "another process deploys; waiting for it");
        })
    }

    /// The same; `waiting` is called once, if another process deploys there.
    pub fn open_telling(
        settings: Settings,
        git: Git,
        waiting: impl FnOnce(&Holder),
    ) -> Result<Self, OpenError> {
        let directory = &settings.directory;
        let hold = Hold::take(directory, waiting)?;
        let content = Content::open(directory.join("content"))?;
        let versions = directory.join("versions");
        let versions = Versions::open(content, &versions, &settings.environments)?;
        let mirrors = Mirrors::new(directory.join("repositories"), git, hold);
        Ok(Self {
            shared: Arc::new(Shared {
                settings,
                mirrors,
                versions,
                puppetfiles: Mutex::default(),
            }),
        })
    }

    /// Begins a look at all sources.
    pub fn round(&self) -> Round {
        Round::new(self.shared.mirrors.clone())
    }

    /// The environments that the sources have. One source that cannot be asked fails all: else its
    /// environments would look deleted.
    pub async fn environments(&self, round: &Round) -> Result<Environments, SourcesError> {
        let mut environments = Environments::default();
        for source in &self.shared.settings.sources {
            let refs = round.refs(&source.remote).await;
            let refs = refs.map_err(|error| SourcesError {
                source_name: source.name.clone(),
                error: Arc::new(error),
            })?;
            environments.add(source, &refs);
        }
        Ok(environments)
    }

    /// The environments that a branch is, of the sources with this prefix, or of all.
    pub fn environments_of(&self, branch: &str, prefix: Option<&str>) -> Vec<EnvironmentName> {
        let sources = self.shared.settings.sources.iter();
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

    /// Makes the version that a branch asks for now, beside the live one.
    pub async fn build(&self, found: &Found, round: &Round) -> Result<Built, DeployError> {
        let file = self.puppetfile(found).await?;
        let settings = &self.shared.settings;
        let empty = Puppetfile::default();
        let named = file.as_deref().unwrap_or(&empty);
        let lock = round.lock(found, named, settings).await?;
        let signature = lock.signature();
        let mut built = Built {
            environment: found.environment.clone(),
            signature,
            lock,
            was_there: true,
            given_way: Vec::new(),
        };
        if self
            .shared
            .versions
            .has(&found.environment, &built.signature)
        {
            return Ok(built);
        }
        built.was_there = false;
        let layout = self.layout(found, &built.lock, named).await?;
        built.given_way = layout.given_way().to_vec();
        let (versions, made) = (self.shared.versions.clone(), built.clone());
        blocking(move || {
            versions.build(&made.environment, &made.signature, &layout)?;
            Ok(())
        })
        .await?;
        Ok(built)
    }

    /// Makes a version live.
    pub async fn switch(
        &self,
        environment: &EnvironmentName,
        signature: &Signature,
    ) -> Result<Switched, DeployError> {
        let versions = self.shared.versions.clone();
        let (environment, signature) = (environment.clone(), signature.clone());
        blocking(move || Ok(versions.switch(&environment, &signature)?)).await
    }

    /// Makes a version of one environment one of another, too.
    pub async fn copy(
        &self,
        from: &EnvironmentName,
        signature: &Signature,
        to: &EnvironmentName,
    ) -> Result<(), DeployError> {
        let versions = self.shared.versions.clone();
        let (from, signature, to) = (from.clone(), signature.clone(), to.clone());
        blocking(move || Ok(versions.copy(&from, &signature, &to)?)).await
    }

    /// Takes an environment away; its versions stay. `false`: there was none of ours.
    pub async fn remove(&self, environment: &EnvironmentName) -> Result<bool, DeployError> {
        let (versions, environment) = (self.shared.versions.clone(), environment.clone());
        blocking(move || Ok(versions.remove(&environment)?)).await
    }

    /// The versions that are here.
    pub fn versions(&self) -> &Versions {
        &self.shared.versions
    }

    async fn layout(
        &self,
        found: &Found,
        lock: &Lock,
        file: &Puppetfile,
    ) -> Result<Layout, DeployError> {
        let trees = self.trees(found, lock, file).await?;
        let Some((_, control)) = trees.get(CONTROL) else {
            return Err(DeployError::Broken);
        };
        let mut parts = Vec::with_capacity(lock.modules.len());
        for module in &lock.modules {
            match (&module.origin, trees.get(&module.directory)) {
                (Origin::Local, _) => {
                    let is_there = |path: &TreePath| path.is_below(module.directory.as_bytes());
                    if !control.entries().any(|(path, _)| is_there(path)) {
                        return Err(DeployError::NoLocal {
                            module: module.name.clone(),
                            directory: module.directory.clone(),
                        });
                    }
                }
                (_, Some((_, manifest))) => parts.push(Part {
                    directory: module.directory.clone(),
                    manifest,
                    exclude_spec: module.exclude_spec,
                }),
                (_, None) => return Err(DeployError::Broken),
            }
        }
        let mut layout = Layout::new(control, &parts)?;
        let text = serde_json::to_vec_pretty(lock).map_err(|_| DeployError::Broken)?;
        let path = TreePath::new(LOCK_FILE.as_bytes()).map_err(|_| DeployError::Broken)?;
        layout.write(path, text);
        Ok(layout)
    }

    /// The trees of a version by their directories, all of them here.
    async fn trees(
        &self,
        found: &Found,
        lock: &Lock,
        file: &Puppetfile,
    ) -> Result<BTreeMap<String, Tree>, DeployError> {
        let mut taking = JoinSet::new();
        let control = self.shared.mirrors.mirror(&found.source.remote)?;
        self.take(
            &mut taking,
            CONTROL,
            "the control repository",
            control,
            &found.commit,
        );
        let remotes: HashMap<String, &str> = file
            .mods
            .iter()
            .filter_map(|module| match &module.source {
                puppetfile::Source::Git { remote, .. } => {
                    Some((file.directory(module), remote.as_str()))
                }
                _ => None,
            })
            .collect();
        for module in &lock.modules {
            let Origin::Git { commit, .. } = &module.origin else {
                continue;
            };
            let (Some(remote), Ok(commit)) = (remotes.get(&module.directory), commit.parse())
            else {
                return Err(DeployError::Broken);
            };
            let mirror = self.shared.mirrors.mirror(remote)?;
            self.take(
                &mut taking,
                &module.directory,
                &module.name,
                mirror,
                &commit,
            );
        }
        let mut trees = BTreeMap::new();
        let mut failed = Vec::new();
        while let Some(taken) = taking.join_next().await {
            match taken.map_err(|_| DeployError::Broken)? {
                (directory, _, Ok(tree)) => drop(trees.insert(directory, tree)),
                (_, name, Err(error)) => failed.push((name, error)),
            }
        }
        failed.sort_by(|(one, _), (other, _)| one.cmp(other));
        match failed.is_empty() {
            true => Ok(trees),
            false => Err(DeployError::Trees(failed)),
        }
    }

    fn take(
        &self,
        taking: &mut JoinSet<(String, String, Result<Tree, TakeError>)>,
        directory: &str,
        name: &str,
        mirror: Arc<Mirror>,
        commit: &Commit,
    ) {
        let deployer = self.clone();
        let (directory, name, commit) = (directory.to_owned(), name.to_owned(), commit.clone());
        taking.spawn(async move {
            let tree = deployer.tree_here(&mirror, &commit).await;
            (directory, name, tree)
        });
    }

    /// The tree of a commit. A copy of the repository that cannot be read is made anew, once.
    async fn tree_here(&self, mirror: &Arc<Mirror>, commit: &Commit) -> Result<Tree, TakeError> {
        let tree = || {
            let (deployer, mirror, commit) = (self.clone(), Arc::clone(mirror), commit.clone());
            tokio::task::spawn_blocking(move || deployer.tree(&mirror, &commit))
        };
        match tree().await.map_err(|_| TakeError::Broken)? {
            Err(TakeError::Tree(error)) if error.is_of_the_copy() => {
                let renewed = self.shared.mirrors.renew(mirror, commit).await;
                renewed.map_err(crate::git::TreeError::from)?;
                tree().await.map_err(|_| TakeError::Broken)?
            }
            tree => tree,
        }
    }

    /// The tree of a commit, which is taken in and looked at if it is not here. Blocks.
    fn tree(&self, mirror: &Mirror, commit: &Commit) -> Result<Tree, TakeError> {
        let content = self.shared.versions.content();
        let note = self.note(mirror, commit);
        let known = std::fs::read_to_string(&note).ok();
        if let Some(id) = known.and_then(|text| text.trim().parse().ok())
            && let Some(manifest) = content.tree(id)?
            && content.is_whole(&manifest)
        {
            return Ok((id, manifest));
        }
        let git = self.shared.mirrors.git();
        let (id, manifest) = take_in(git, mirror, commit, content)?;
        if let Some(unparsed) = verify(content, &manifest)? {
            return Err(TakeError::Unparsed(unparsed));
        }
        // Without it the tree is only taken in once more.
        if let Err(error) = write_note(&note, &id) {
            tracing::warn!(path = %note.display(), %error, "cannot note a tree");
        }
        Ok((id, manifest))
    }

    /// Where it is noted which tree a commit is.
    fn note(&self, mirror: &Mirror, commit: &Commit) -> PathBuf {
        let directory = mirror.directory().with_extension("trees");
        directory.join(commit.as_str())
    }

    /// The Puppetfile of a branch; `None`: it has none.
    async fn puppetfile(&self, found: &Found) -> Result<Option<Arc<Puppetfile>>, DeployError> {
        let name = found.source.puppetfile.clone();
        let key = (found.commit.clone(), name.clone());
        let known = {
            let puppetfiles = self.shared.puppetfiles.lock();
            puppetfiles
                .unwrap_or_else(PoisonError::into_inner)
                .get(&key)
                .cloned()
        };
        if known.is_some() {
            return Ok(known);
        }
        let mirror = self.shared.mirrors.mirror(&found.source.remote)?;
        let read = || {
            let (git, file) = (self.shared.mirrors.git().clone(), name.clone());
            let (mirror, commit) = (Arc::clone(&mirror), found.commit.clone());
            blocking(move || Ok(read_file(&git, &mirror, &commit, &file)?))
        };
        let bytes = match read().await {
            Err(DeployError::Tree(error)) if error.is_of_the_copy() => {
                self.shared.mirrors.renew(&mirror, &found.commit).await?;
                read().await?
            }
            bytes => bytes?,
        };
        let Some(bytes) = bytes else {
            return Ok(None);
        };
        let text = String::from_utf8(bytes).map_err(|_| ResolveError::Encoding {
            file: name.clone(),
            branch: found.branch.clone(),
        })?;
        let parsed = puppetfile::parse(&text).map_err(|mistakes| ResolveError::Puppetfile {
            file: name,
            branch: found.branch.clone(),
            mistakes,
        })?;
        let parsed = Arc::new(parsed);
        let mut puppetfiles = self
            .shared
            .puppetfiles
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if puppetfiles.len() >= PUPPETFILES {
            puppetfiles.clear();
        }
        puppetfiles.insert(key, Arc::clone(&parsed));
        Ok(Some(parsed))
    }
}

/// The control repository's place among the trees; no module has it.
const CONTROL: &str = "";

/// Why a tree is not here.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// It cannot be taken in.
    #[error(transparent)]
    Tree(#[from] crate::git::TreeError),
    /// The store.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// Puppet would not read it.
    #[error("manifests that do not parse: {0}")]
    Unparsed(crate::verify::Unparsed),
    /// A bug.
    #[error("something that cannot happen did (a bug; please report it)")]
    Broken,
}

fn write_note(path: &Path, id: &TreeId) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, id.to_string())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DeployError> + Send + 'static,
) -> Result<T, DeployError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or(Err(DeployError::Broken))
}
