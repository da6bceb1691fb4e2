//! The trees that make up a version. Main type: [`TreeFetcher`].
//!
//! Invariant: a returned tree is stored completely, and its manifests parse.

mod subversion;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use puppetfile::{Mod, Puppetfile, Source};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

use crate::archive::{ArchiveError, Archives, ForgeSettings, Slug, Taken};
use crate::defaults::TREES;
use crate::git::{Commit, GitError, GitMirror, GitMirrors, TreeError, take_in};
use crate::manifest_syntax::{Unparsed, verify};
use crate::resolve::{FixedControl, slug};
use crate::svn::{Address, Svn, SvnError};
use code_store::content::{Content, ContentError, ContentHash, Entry, Manifest, TreeId};
use code_store::lock::{LockedModule, ModuleOrigin, VersionLock};
use code_store::notes::{read_note, write_note};
use code_store::tree_notes::{commits_directory, revisions_directory};

/// Fetches trees into the code store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TreeFetcher {
    mirrors: GitMirrors,
    archives: Archives,
    svn: Svn,
    content: Content,
    /// Directory of the notes about exports from Subversion.
    svn_notes: PathBuf,
    shared: Shared,
}

/// Trees that are being fetched or used, by their origin: environments share most of theirs.
type Shared = Arc<Mutex<HashMap<String, Weak<OnceCell<Taken>>>>>;

/// A tree of a version.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Name of its module, for messages.
    name: String,
    /// The tree, shared with other users as long as this value lives.
    taken: Arc<OnceCell<Taken>>,
}

/// The content of a version.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub fixed: &'a FixedControl,
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
pub enum TakeError {
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
    Unparsed(Unparsed),
    /// An internal error, which is a bug.
    #[error("something that cannot happen did (a bug; please report it)")]
    Broken,
}

/// The error of fetching the trees of a version.
#[derive(Debug, thiserror::Error)]
pub enum TreesError {
    /// A copy of a repository cannot be used.
    #[error(transparent)]
    Git(#[from] GitError),
    /// These modules, or the control repository, cannot be fetched; by name.
    #[error("{}", shown(.0))]
    Taking(Vec<(String, TakeError)>),
    /// An internal error, which is a bug.
    #[error("something that cannot happen did (a bug; please report it)")]
    Broken,
}

fn shown(failed: &[(String, TakeError)]) -> String {
    let lines: Vec<String> = failed
        .iter()
        .map(|(name, error)| format!("{name}: {error}"))
        .collect();
    lines.join("\n")
}

/// Trees that are being fetched, with their directories and names.
type Taking = JoinSet<(String, String, Result<Tree, TakeError>)>;

// === impl Tree ===

impl Tree {
    /// The content of the tree; `None` if it was never stored, which cannot happen.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.taken.get().map(|taken| &taken.manifest)
    }

    /// Notes for people on entries that the tree omits.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let name = &self.name;
        let note = move |path| format!("{name}: {path} of its archive is left out");
        let taken = self.taken.get().into_iter();
        taken.flat_map(|taken| taken.skipped.iter()).map(note)
    }
}

// === impl TreeFetcher ===

impl TreeFetcher {
    pub fn new(
        mirrors: &GitMirrors,
        archives: &Archives,
        svn: &Svn,
        content: &Content,
        store: &Path,
    ) -> Self {
        Self {
            mirrors: mirrors.clone(),
            archives: archives.clone(),
            svn: svn.clone(),
            content: content.clone(),
            svn_notes: revisions_directory(store),
            shared: Shared::default(),
        }
    }

    /// A fetcher with other copies and archives that shares its trees with this one.
    pub fn with(&self, mirrors: &GitMirrors, archives: &Archives) -> Self {
        Self {
            mirrors: mirrors.clone(),
            archives: archives.clone(),
            ..self.clone()
        }
    }

    /// Fetches all trees of a version and returns them by their directories.
    pub async fn all(&self, wanted: Wanted<'_>) -> Result<BTreeMap<String, Tree>, TreesError> {
        let mut taking = Taking::new();
        match wanted.fixed {
            FixedControl::Git { remote, commit } => {
                let control = self.mirrors.mirror(remote)?;
                self.take_commit(&mut taking, CONTROL, CONTROL_NAME, control, commit);
            }
            FixedControl::Svn { address, revision } => {
                self.take_revision(
                    &mut taking,
                    CONTROL,
                    CONTROL_NAME,
                    address.clone(),
                    *revision,
                );
            }
            FixedControl::Tarball { location, sha256 } => {
                self.take_archive(&mut taking, CONTROL, CONTROL_NAME, location, sha256);
            }
            FixedControl::Plain => {}
        }
        let file = wanted.file;
        let mods = file.mods.iter();
        let mods: HashMap<String, &Mod> = mods.map(|it| (file.directory(it), it)).collect();
        for module in &wanted.lock.modules {
            let named = mods.get(&module.directory).ok_or(TreesError::Broken)?;
            self.take(&mut taking, module, named, wanted)?;
        }
        let mut trees = BTreeMap::new();
        let mut failed = Vec::new();
        while let Some(taken) = taking.join_next().await {
            match taken.map_err(|_| TreesError::Broken)? {
                (directory, _, Ok(tree)) => drop(trees.insert(directory, tree)),
                (_, name, Err(error)) => failed.push((name, error)),
            }
        }
        failed.sort_by(|(one, _), (other, _)| one.cmp(other));
        match failed.is_empty() {
            true => Ok(trees),
            false => Err(TreesError::Taking(failed)),
        }
    }

    fn take(
        &self,
        taking: &mut Taking,
        module: &LockedModule,
        named: &Mod,
        wanted: Wanted<'_>,
    ) -> Result<(), TreesError> {
        let (directory, name) = (&module.directory, &module.name);
        match (&module.origin, &named.source) {
            (ModuleOrigin::Git { commit, .. }, Source::Git { remote, .. }) => {
                let commit = commit.parse().map_err(|()| TreesError::Broken)?;
                let mirror = self.mirrors.mirror(remote)?;
                self.take_commit(taking, directory, name, mirror, &commit);
            }
            (
                ModuleOrigin::Forge {
                    version, sha256, ..
                },
                Source::Forge(_),
            ) => {
                let forge = self
                    .archives
                    .forge(wanted.forge, wanted.file.forge.as_deref());
                let slug = Slug {
                    module: slug(&named.name),
                    version: version.clone(),
                };
                let (archives, sha256) = (self.archives.clone(), sha256.clone());
                let of = format!("release {sha256}");
                self.share(taking, directory, name, of, async move {
                    Ok(archives.release_tree(&forge?, &slug, &sha256).await?)
                });
            }
            (ModuleOrigin::Tarball { sha256, .. }, Source::Tarball { location, .. }) => {
                self.take_archive(taking, directory, name, location, sha256);
            }
            (ModuleOrigin::Svn { revision, .. }, source @ Source::Svn { .. }) => {
                let (address, _) = Address::of(source).map_err(|_| TreesError::Broken)?;
                self.take_revision(taking, directory, name, address, *revision);
            }
            (ModuleOrigin::Local, _) => {}
            _ => return Err(TreesError::Broken),
        }
        Ok(())
    }

    fn take_archive(
        &self,
        taking: &mut Taking,
        directory: &str,
        name: &str,
        location: &str,
        sha256: &str,
    ) {
        let (archives, sha256) = (self.archives.clone(), sha256.to_owned());
        let location = location.to_owned();
        let of = format!("archive {sha256}");
        self.share(taking, directory, name, of, async move {
            Ok(archives.archive_tree(&location, &sha256).await?)
        });
    }

    /// The tree of an archive, which is downloaded if it is not stored.
    pub async fn archive_here(&self, location: &str, sha256: &str) -> Result<Manifest, TakeError> {
        Ok(self.archives.archive_tree(location, sha256).await?.manifest)
    }

    fn take_commit(
        &self,
        taking: &mut Taking,
        directory: &str,
        name: &str,
        mirror: Arc<GitMirror>,
        commit: &Commit,
    ) {
        let (trees, commit) = (self.clone(), commit.clone());
        let of = note(&mirror, &commit).display().to_string();
        self.share(taking, directory, name, of, async move {
            Ok(Taken {
                manifest: trees.tree_here(&mirror, &commit).await?,
                skipped: Vec::new(),
            })
        });
    }

    /// One file of a stored tree; `None` if it does not exist.
    pub fn file_of(
        &self,
        manifest: &Manifest,
        path: &str,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        match manifest.get(path.as_bytes()) {
            Some(Entry::File {
                sha256, executable, ..
            }) => self.content.read(*sha256, *executable).map(Some),
            _ => Ok(None),
        }
    }

    /// Fetches a tree, unless another task fetches it or still uses it.
    fn share(
        &self,
        taking: &mut Taking,
        directory: &str,
        name: &str,
        of: String,
        take: impl Future<Output = Result<Taken, TakeError>> + Send + 'static,
    ) {
        let (directory, name) = (directory.to_owned(), name.to_owned());
        let taken = self.shared_of(of);
        taking.spawn(async move {
            let tree = match taken.get_or_try_init(|| take).await {
                Ok(_) => Ok(Tree {
                    name: name.clone(),
                    taken,
                }),
                Err(error) => Err(error),
            };
            (directory, name, tree)
        });
    }

    fn shared_of(&self, of: String) -> Arc<OnceCell<Taken>> {
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
    async fn tree_here(
        &self,
        mirror: &Arc<GitMirror>,
        commit: &Commit,
    ) -> Result<Manifest, TakeError> {
        let tree = || {
            let (trees, mirror, commit) = (self.clone(), Arc::clone(mirror), commit.clone());
            tokio::task::spawn_blocking(move || trees.tree(&mirror, &commit))
        };
        match tree().await.map_err(|_| TakeError::Broken)? {
            Err(TakeError::Tree(error)) if error.is_of_the_copy() => {
                let renewed = self.mirrors.renew(mirror, commit).await;
                renewed.map_err(TreeError::from)?;
                tree().await.map_err(|_| TakeError::Broken)?
            }
            tree => tree,
        }
    }

    /// The tree of a commit, which is stored and checked if it is not yet. Blocks.
    fn tree(&self, mirror: &GitMirror, commit: &Commit) -> Result<Manifest, TakeError> {
        let content = &self.content;
        let note = note(mirror, commit);
        if let Some(manifest) = self.noted(mirror, commit)?
            && content.is_whole(&manifest)
        {
            return Ok(manifest);
        }
        let (id, manifest) = take_in(self.mirrors.git(), mirror, commit, content)?;
        if let Some(unparsed) = verify(content, &manifest)? {
            return Err(TakeError::Unparsed(unparsed));
        }
        write_note(content, &note, &id.to_string());
        Ok(manifest)
    }

    /// The tree of a commit that was stored before. Its files may have been removed.
    fn noted(&self, mirror: &GitMirror, commit: &Commit) -> Result<Option<Manifest>, ContentError> {
        let known = read_note(&note(mirror, commit)).and_then(|text| text.parse::<TreeId>().ok());
        known.map_or(Ok(None), |id| self.content.tree(id))
    }

    /// One file of a commit, without running git; `None` if git must be run. May block.
    pub fn file(&self, mirror: &GitMirror, commit: &Commit, path: &str) -> Option<Vec<u8>> {
        let manifest = self.noted(mirror, commit).ok()??;
        let Entry::File {
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
fn note(mirror: &GitMirror, commit: &Commit) -> PathBuf {
    commits_directory(mirror.directory()).join(commit.as_str())
}
