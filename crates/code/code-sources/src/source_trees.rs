//! The trees that make up a version. Main type: [`TreeFetcher`].
//!
//! Invariant: a returned tree is stored completely, and its manifests parse.

mod subversion;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use puppetfile::{ModuleDeclaration, ModuleSource, Puppetfile};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

use crate::archive::{ArchiveError, ArchiveStore, ArchiveTree, ForgeSettings, ReleaseSlug};
use crate::defaults::TREES;
use crate::git::{CommitHash, GitError, GitMirror, GitMirrors, TreeError, store_commit};
use crate::manifest_syntax::{ManifestSyntaxErrors, verify};
use crate::resolve::{ResolvedControl, module_slug};
use crate::svn::{SvnAddress, SvnError, SvnProgram};
use code_store::content::{
    ContentError, ContentHash, ContentStore, TreeEntry, TreeId, TreeManifest,
};
use code_store::low_priority::run_at_low_priority;
use code_store::notes::{read_note, write_note};
use code_store::tree_notes::{commits_directory, revisions_directory};
use code_store::version_lock::{LockedModule, ModuleOrigin, VersionLock};

/// Fetches trees into the code store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TreeFetcher {
    mirrors: GitMirrors,
    archives: ArchiveStore,
    svn: SvnProgram,
    content: ContentStore,
    /// Directory of the notes about exports from Subversion.
    svn_notes: PathBuf,
    shared: SharedTrees,
}

/// Trees that are being fetched or used, by their origin: environments share most of theirs.
type SharedTrees = Arc<Mutex<HashMap<String, Weak<OnceCell<ArchiveTree>>>>>;

/// A tree of a version.
#[derive(Clone, Debug)]
pub struct FetchedTree {
    /// Name of its module, for messages.
    name: String,
    /// The tree, shared with other users as long as this value lives.
    archive_tree: Arc<OnceCell<ArchiveTree>>,
}

/// The content of a version.
#[derive(Clone, Copy, Debug)]
pub struct VersionContent<'a> {
    pub control: &'a ResolvedControl,
    pub lock: &'a VersionLock,
    pub file: &'a Puppetfile,
    pub forge: &'a ForgeSettings,
}

/// The key of the control repository among the trees; no module has it.
pub const CONTROL: &str = "";

/// The control repository's name in messages.
pub const CONTROL_NAME: &str = "the control repository";

/// The error of fetching a tree.
#[derive(Debug, thiserror::Error)]
pub enum TreeFetchError {
    /// A commit's tree cannot be stored.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Its archive cannot be used.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Subversion failed.
    #[error(transparent)]
    Svn(#[from] SvnError),
    /// The code store failed.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// Puppet's parser would refuse a manifest.
    #[error("manifests that do not parse: {0}")]
    Unparsed(ManifestSyntaxErrors),
    /// An internal error, which is a bug.
    #[error("something that cannot happen did (a bug; please report it)")]
    Internal,
}

/// The error of fetching the trees of a version.
#[derive(Debug, thiserror::Error)]
pub enum VersionFetchError {
    /// A copy of a repository cannot be used.
    #[error(transparent)]
    Git(#[from] GitError),
    /// These modules, or the control repository, cannot be fetched; by name.
    #[error("{}", list_failures(.0))]
    Taking(Vec<(String, TreeFetchError)>),
    /// An internal error, which is a bug.
    #[error("something that cannot happen did (a bug; please report it)")]
    Internal,
}

fn list_failures(failed: &[(String, TreeFetchError)]) -> String {
    let lines: Vec<String> = failed
        .iter()
        .map(|(name, error)| format!("{name}: {error}"))
        .collect();
    lines.join("\n")
}

/// Trees that are being fetched, with their directories and names.
type FetchingTrees = JoinSet<(String, String, Result<FetchedTree, TreeFetchError>)>;

// === impl FetchedTree ===

impl FetchedTree {
    /// The content of the tree; `None` if it was never stored, which cannot happen.
    pub fn manifest(&self) -> Option<&TreeManifest> {
        self.archive_tree.get().map(|taken| &taken.manifest)
    }

    /// Notes for users on entries that the tree omits.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let name = &self.name;
        let note = move |path| format!("{name}: {path} of its archive is left out");
        let taken = self.archive_tree.get().into_iter();
        taken.flat_map(|taken| taken.skipped.iter()).map(note)
    }
}

// === impl TreeFetcher ===

impl TreeFetcher {
    pub fn new(
        mirrors: &GitMirrors,
        archives: &ArchiveStore,
        svn: &SvnProgram,
        content: &ContentStore,
        store: &Path,
    ) -> Self {
        Self {
            mirrors: mirrors.clone(),
            archives: archives.clone(),
            svn: svn.clone(),
            content: content.clone(),
            svn_notes: revisions_directory(store),
            shared: SharedTrees::default(),
        }
    }

    /// A fetcher with other copies and archives that shares its trees with this one.
    pub fn with_mirrors(&self, mirrors: &GitMirrors, archives: &ArchiveStore) -> Self {
        Self {
            mirrors: mirrors.clone(),
            archives: archives.clone(),
            ..self.clone()
        }
    }

    /// Fetches all trees of a version and returns them by their directories.
    pub async fn fetch_all(
        &self,
        wanted: VersionContent<'_>,
    ) -> Result<BTreeMap<String, FetchedTree>, VersionFetchError> {
        let mut taking = FetchingTrees::new();
        match wanted.control {
            ResolvedControl::Git { remote, commit } => {
                let control = self.mirrors.mirror(remote)?;
                self.take_commit(&mut taking, CONTROL, CONTROL_NAME, control, commit);
            }
            ResolvedControl::Svn { address, revision } => {
                self.fetch_revision(
                    &mut taking,
                    CONTROL,
                    CONTROL_NAME,
                    address.clone(),
                    *revision,
                );
            }
            ResolvedControl::Tarball { location, sha256 } => {
                self.take_archive(&mut taking, CONTROL, CONTROL_NAME, location, sha256);
            }
            ResolvedControl::NoFiles => {}
        }
        let file = wanted.file;
        let mods = file.mods.iter();
        let mods: HashMap<String, &ModuleDeclaration> =
            mods.map(|it| (file.module_directory(it), it)).collect();
        for module in &wanted.lock.modules {
            let named = mods
                .get(&module.directory)
                .ok_or(VersionFetchError::Internal)?;
            self.fetch_module(&mut taking, module, named, wanted)?;
        }
        let mut trees = BTreeMap::new();
        let mut failed = Vec::new();
        while let Some(taken) = taking.join_next().await {
            match taken.map_err(|_| VersionFetchError::Internal)? {
                (directory, _, Ok(tree)) => drop(trees.insert(directory, tree)),
                (_, name, Err(error)) => failed.push((name, error)),
            }
        }
        failed.sort_by(|(one, _), (other, _)| one.cmp(other));
        match failed.is_empty() {
            true => Ok(trees),
            false => Err(VersionFetchError::Taking(failed)),
        }
    }

    fn fetch_module(
        &self,
        taking: &mut FetchingTrees,
        module: &LockedModule,
        named: &ModuleDeclaration,
        wanted: VersionContent<'_>,
    ) -> Result<(), VersionFetchError> {
        let (directory, name) = (&module.directory, &module.name);
        match (&module.origin, &named.source) {
            (ModuleOrigin::Git { commit, .. }, ModuleSource::Git { remote, .. }) => {
                let commit = commit.parse().map_err(|()| VersionFetchError::Internal)?;
                let mirror = self.mirrors.mirror(remote)?;
                self.take_commit(taking, directory, name, mirror, &commit);
            }
            (
                ModuleOrigin::Forge {
                    version, sha256, ..
                },
                ModuleSource::Forge(_),
            ) => {
                let forge = self
                    .archives
                    .forge_server(wanted.forge, wanted.file.forge.as_deref());
                let slug = ReleaseSlug {
                    module: module_slug(&named.name),
                    version: version.clone(),
                };
                let (archives, sha256) = (self.archives.clone(), sha256.clone());
                let of = format!("release {sha256}");
                self.fetch_shared(taking, directory, name, of, async move {
                    Ok(archives.release_tree(&forge?, &slug, &sha256).await?)
                });
            }
            (ModuleOrigin::Tarball { sha256, .. }, ModuleSource::Tarball { location, .. }) => {
                self.take_archive(taking, directory, name, location, sha256);
            }
            (ModuleOrigin::Svn { revision, .. }, source @ ModuleSource::Svn { .. }) => {
                let (address, _) = SvnAddress::from_module_source(source)
                    .map_err(|_| VersionFetchError::Internal)?;
                self.fetch_revision(taking, directory, name, address, *revision);
            }
            (ModuleOrigin::Local, _) => {}
            _ => return Err(VersionFetchError::Internal),
        }
        Ok(())
    }

    fn take_archive(
        &self,
        taking: &mut FetchingTrees,
        directory: &str,
        name: &str,
        location: &str,
        sha256: &str,
    ) {
        let (archives, sha256) = (self.archives.clone(), sha256.to_owned());
        let location = location.to_owned();
        let of = format!("archive {sha256}");
        self.fetch_shared(taking, directory, name, of, async move {
            Ok(archives.archive_tree(&location, &sha256).await?)
        });
    }

    /// The tree of an archive, which is downloaded if it is not stored.
    pub async fn fetch_archive(
        &self,
        location: &str,
        sha256: &str,
    ) -> Result<TreeManifest, TreeFetchError> {
        Ok(self.archives.archive_tree(location, sha256).await?.manifest)
    }

    fn take_commit(
        &self,
        taking: &mut FetchingTrees,
        directory: &str,
        name: &str,
        mirror: Arc<GitMirror>,
        commit: &CommitHash,
    ) {
        let (trees, commit) = (self.clone(), commit.clone());
        let of = tree_note_path(&mirror, &commit).display().to_string();
        self.fetch_shared(taking, directory, name, of, async move {
            Ok(ArchiveTree {
                manifest: trees.find_or_take_tree(&mirror, &commit).await?,
                skipped: Vec::new(),
            })
        });
    }

    /// One file of a stored tree; `None` if it does not exist.
    pub fn read_file(
        &self,
        manifest: &TreeManifest,
        path: &str,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        match manifest.get(path.as_bytes()) {
            Some(TreeEntry::File {
                sha256, executable, ..
            }) => self.content.read(*sha256, *executable).map(Some),
            _ => Ok(None),
        }
    }

    /// Fetches a tree, unless another task fetches it or still uses it.
    fn fetch_shared(
        &self,
        taking: &mut FetchingTrees,
        directory: &str,
        name: &str,
        of: String,
        take: impl Future<Output = Result<ArchiveTree, TreeFetchError>> + Send + 'static,
    ) {
        let (directory, name) = (directory.to_owned(), name.to_owned());
        let taken = self.shared_cell(of);
        taking.spawn(async move {
            let tree = match taken.get_or_try_init(|| take).await {
                Ok(_) => Ok(FetchedTree {
                    name: name.clone(),
                    archive_tree: taken,
                }),
                Err(error) => Err(error),
            };
            (directory, name, tree)
        });
    }

    fn shared_cell(&self, of: String) -> Arc<OnceCell<ArchiveTree>> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = shared.get(&of).and_then(Weak::upgrade) {
            return taken;
        }
        if shared.len() >= TREES {
            shared.retain(|_, taken| taken.strong_count() > 0);
        }
        let taken = Arc::default();
        shared.insert(of, Arc::downgrade(&taken));
        taken
    }

    /// The tree of a commit. A copy of the repository that cannot be read is replaced, once.
    async fn find_or_take_tree(
        &self,
        mirror: &Arc<GitMirror>,
        commit: &CommitHash,
    ) -> Result<TreeManifest, TreeFetchError> {
        let tree = || {
            let (trees, mirror, commit) = (self.clone(), Arc::clone(mirror), commit.clone());
            tokio::task::spawn_blocking(move || {
                run_at_low_priority(|| trees.tree(&mirror, &commit))
            })
        };
        match tree().await.map_err(|_| TreeFetchError::Internal)? {
            Err(TreeFetchError::Tree(error)) if error.is_mirror_error() => {
                let renewed = self.mirrors.renew(mirror, commit).await;
                renewed.map_err(TreeError::from)?;
                tree().await.map_err(|_| TreeFetchError::Internal)?
            }
            tree => tree,
        }
    }

    /// The tree of a commit, which is stored and checked if it is not yet. Blocks.
    fn tree(
        &self,
        mirror: &GitMirror,
        commit: &CommitHash,
    ) -> Result<TreeManifest, TreeFetchError> {
        let content = &self.content;
        let note = tree_note_path(mirror, commit);
        if let Some(manifest) = self.read_tree_note(mirror, commit)?
            && content.has_all_contents(&manifest)
        {
            return Ok(manifest);
        }
        let (id, manifest) = store_commit(self.mirrors.git(), mirror, commit, content)?;
        if let Some(unparsed) = verify(content, &manifest)? {
            return Err(TreeFetchError::Unparsed(unparsed));
        }
        write_note(content, &note, &id.to_string());
        Ok(manifest)
    }

    /// The tree of a commit that was stored before. Its files may have been removed.
    fn read_tree_note(
        &self,
        mirror: &GitMirror,
        commit: &CommitHash,
    ) -> Result<Option<TreeManifest>, ContentError> {
        let known =
            read_note(&tree_note_path(mirror, commit)).and_then(|text| text.parse::<TreeId>().ok());
        known.map_or(Ok(None), |id| self.content.read_tree(id))
    }

    /// One file of a commit, without running git; `None` if git must be run. May block.
    pub fn fetch_file(
        &self,
        mirror: &GitMirror,
        commit: &CommitHash,
        path: &str,
    ) -> Option<Vec<u8>> {
        let manifest = self.read_tree_note(mirror, commit).ok()??;
        let TreeEntry::File {
            sha256, executable, ..
        } = manifest.get(path.as_bytes())?
        else {
            return None;
        };
        let bytes = self.content.read(*sha256, *executable).ok()?;
        (ContentHash::of(&bytes) == *sha256).then_some(bytes)
    }
}

/// Path of the note with the tree of a commit.
fn tree_note_path(mirror: &GitMirror, commit: &CommitHash) -> PathBuf {
    commits_directory(mirror.directory()).join(commit.as_str())
}
