//! The local copies of repositories: [`GitMirrors`].
//!
//! Invariants: one program at a time writes to a copy; a copy is only changed by fetching and by
//! packing; Tutti never removes objects that git has while they may be read. A damaged copy is
//! replaced in one step by a new one that was created beside it.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags};
use tokio::sync::Semaphore;

use super::git_mirror::GitMirror;
use super::program::{GitError, GitInvocation, GitProgram, check_remote};
use super::refs::{CommitHash, GitReference, GitRefs, RefsError};
use super::stale_locks::remove_stale_locks;
use crate::defaults::{FETCH_TIMEOUT, FETCHES, LIST_TIMEOUT, REFS_BYTES, WORD_BYTES};
use code_store::directory_lock::DirectoryLock;
use code_store::disk_work::on_disk;

/// Copies of repositories, below one directory. Cheap to clone.
#[derive(Clone, Debug)]
pub struct GitMirrors {
    shared: Arc<MirrorsShared>,
    git: GitProgram,
}

#[derive(Debug)]
struct MirrorsShared {
    directory: PathBuf,
    /// Copies by the repository's address.
    mirrors: Mutex<HashMap<String, Arc<GitMirror>>>,
    fetches: Semaphore,
    hold: DirectoryLock,
}

/// Content of `HEAD` in a bare repository.
const HEAD: &str = "ref: refs/heads/main\n";

/// Content of `config` in a bare repository.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n";

/// Refspecs of all branches and tags.
const ALL_REFSPECS: &[&str] = &["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];

// === impl GitMirrors ===

impl GitMirrors {
    /// Copies below this directory, created on demand; this lock protects the directory.
    pub fn new(directory: impl Into<PathBuf>, git: GitProgram, hold: DirectoryLock) -> Self {
        Self {
            shared: Arc::new(MirrorsShared {
                directory: directory.into(),
                mirrors: Mutex::default(),
                fetches: Semaphore::new(FETCHES),
                hold,
            }),
            git,
        }
    }

    /// The same copies, with another configuration of git.
    pub fn with_git(&self, git: GitProgram) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            git,
        }
    }

    /// The copy of a repository, without fetching it.
    pub fn mirror(&self, remote: &str) -> Result<Arc<GitMirror>, GitError> {
        let remote = check_remote(remote)?;
        let mirror = {
            let mut mirrors = self.all();
            let made = mirrors
                .entry(remote.to_owned())
                .or_insert_with(|| Arc::new(GitMirror::new(remote, &self.shared.directory)));
            Arc::clone(made)
        };
        on_disk(|| mirror.note_use());
        Ok(mirror)
    }

    /// The copies that were used since the start.
    pub(super) fn all(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<GitMirror>>> {
        let mirrors = self.shared.mirrors.lock();
        mirrors.unwrap_or_else(PoisonError::into_inner)
    }

    /// The directory of all copies.
    pub(crate) fn directory(&self) -> &Path {
        &self.shared.directory
    }

    /// Lists the branches and tags of the repository, and fetches if they changed.
    pub async fn refresh(&self, mirror: &GitMirror) -> Result<Arc<GitRefs>, GitError> {
        let mut known = mirror.lock().await;
        // A repository without a copy is fetched in any case.
        if mirror.directory.is_dir() {
            let listed = self.list(mirror).await?;
            if known.is_none() {
                *known = self.refs_of_copy(mirror).await.ok().map(Arc::new);
            }
            if let Some(known) = known.as_ref().filter(|known| ***known == listed) {
                return Ok(Arc::clone(known));
            }
        }
        let refs = Arc::new(self.fetch_changed(mirror).await?);
        *known = Some(Arc::clone(&refs));
        Ok(refs)
    }

    /// Branches and tags of the copy, without contacting the repository; `None` if there is no
    /// copy.
    pub async fn read_refs(&self, mirror: &GitMirror) -> Result<Option<Arc<GitRefs>>, GitError> {
        let mut known = mirror.lock().await;
        if known.is_none() && mirror.directory.is_dir() {
            *known = self.refs_of_copy(mirror).await.ok().map(Arc::new);
        }
        Ok(known.clone())
    }

    /// The commit that a name refers to in the copy.
    pub async fn resolve_reference(
        &self,
        mirror: &GitMirror,
        refs: &GitRefs,
        wanted: &GitReference,
    ) -> Result<Option<CommitHash>, GitError> {
        let named = match wanted {
            GitReference::Branch(name) => return Ok(refs.branch(name).cloned()),
            GitReference::Tag(name) => return Ok(refs.tag(name).cloned()),
            GitReference::Any(name) => refs.branch(name).or_else(|| refs.tag(name)).cloned(),
            GitReference::Commit(_) => None,
        };
        match (named, wanted) {
            (Some(commit), _) => Ok(Some(commit)),
            (None, GitReference::Any(name) | GitReference::Commit(name)) => {
                self.parse(mirror, name).await
            }
            (None, _) => Ok(None),
        }
    }

    /// Fetches a commit that is on no branch and no tag, if the repository permits that.
    pub async fn fetch_commit(
        &self,
        mirror: &GitMirror,
        commit: &CommitHash,
    ) -> Result<(), GitError> {
        let mut known = mirror.lock().await;
        let fetched = self.fetch(mirror, &[commit.as_str()]).await;
        match fetched {
            Err(GitError::Failed { .. }) if self.is_damaged(mirror).await => {
                *known = None;
                self.renew_locked(mirror, commit).await
            }
            fetched => fetched,
        }
    }

    /// Replaces a copy in which a commit cannot be read by a new one.
    pub async fn renew(&self, mirror: &GitMirror, commit: &CommitHash) -> Result<(), GitError> {
        let mut known = mirror.lock().await;
        *known = None;
        self.renew_locked(mirror, commit).await
    }

    /// Replaces the mirror, for a caller that holds the mirror's lock.
    async fn renew_locked(&self, mirror: &GitMirror, commit: &CommitHash) -> Result<(), GitError> {
        self.clone_anew(mirror).await?;
        if self.parse(mirror, commit.as_str()).await?.is_none() {
            // The commit is not on any branch any more.
            self.fetch(mirror, &[commit.as_str()]).await?;
        }
        Ok(())
    }

    /// Finds a commit by its digits, complete or abbreviated.
    async fn parse(&self, mirror: &GitMirror, name: &str) -> Result<Option<CommitHash>, GitError> {
        let is_digits = name.len() >= 4 && name.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_digits || !mirror.directory.is_dir() {
            return Ok(None);
        }
        let wanted = format!("{}^{{commit}}", name.to_ascii_lowercase());
        let arguments = ["--verify", "--quiet", "--end-of-options", wanted.as_str()];
        let call = GitInvocation {
            directory: Some(&mirror.directory),
            verb: "rev-parse",
            arguments: &arguments,
            remote: &mirror.remote,
            limit: LIST_TIMEOUT,
            most_bytes: WORD_BYTES,
            stdin: Stdio::null(),
        };
        match self.git.run(call).await {
            Ok(printed) => Ok(String::from_utf8_lossy(&printed).trim().parse().ok()),
            Err(GitError::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Fetches everything, into a new copy if there is none or if git cannot use the existing one.
    async fn fetch_changed(&self, mirror: &GitMirror) -> Result<GitRefs, GitError> {
        let updated = match self.fetch(mirror, ALL_REFSPECS).await {
            Ok(()) => self.refs_of_copy(mirror).await,
            Err(error) => Err(error),
        };
        let refs = match updated {
            Err(GitError::Failed { .. }) if self.is_damaged(mirror).await => {
                self.clone_anew(mirror).await?;
                self.refs_of_copy(mirror).await
            }
            updated => updated,
        }?;
        on_disk(|| mirror.write_refs_note(&refs));
        Ok(refs)
    }

    async fn fetch(&self, mirror: &GitMirror, what: &[&str]) -> Result<(), GitError> {
        let own = &mirror.directory;
        if own.is_dir() {
            return self.fetch_into(own, mirror, what).await;
        }
        // Only a complete repository gets the copy's name.
        let fresh = on_disk(|| init_repository(mirror))?;
        let fetched = self.fetch_into(&fresh, mirror, what).await;
        on_disk(|| match fetched {
            Ok(()) => std::fs::rename(&fresh, own).map_err(directory_error(own)),
            Err(error) => remove_directory(&fresh).and(Err(error)),
        })
    }

    async fn fetch_into(
        &self,
        own: &Path,
        mirror: &GitMirror,
        what: &[&str],
    ) -> Result<(), GitError> {
        let _place = self.acquire_fetch_permit().await;
        on_disk(|| {
            remove_stale_locks(own).map_err(directory_error(own))?;
            mirror.remove_refs_note()
        })?;
        let mut arguments = vec![
            "--quiet",
            "--force",
            "--prune",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--",
            mirror.remote.as_str(),
        ];
        arguments.extend_from_slice(what);
        self.write_repository_files(own, "fetch", mirror, &arguments, FETCH_TIMEOUT)
            .await
    }

    /// Runs a git command that writes: it inherits the lock of the directory, in case this process
    /// is killed.
    pub(super) async fn write_repository_files(
        &self,
        directory: &Path,
        verb: &'static str,
        mirror: &GitMirror,
        arguments: &[&str],
        limit: Duration,
    ) -> Result<(), GitError> {
        let call = GitInvocation {
            directory: Some(directory),
            verb,
            arguments,
            remote: &mirror.remote,
            limit,
            most_bytes: WORD_BYTES,
            stdin: self
                .shared
                .hold
                .inherited_stdin()
                .map_err(GitError::Start)?,
        };
        self.git.run(call).await.map(drop)
    }

    /// True if git cannot use the mirror. Called only after a failure, since it reads every object:
    /// `--connectivity-only` skips objects without a reference, and an empty one of these is enough
    /// to make every fetch fail. History with errors that git tolerates counts as damage too, at
    /// the cost of a clone.
    async fn is_damaged(&self, mirror: &GitMirror) -> bool {
        if on_disk(|| has_empty_file(&mirror.directory.join("objects"))) {
            return true;
        }
        let call = GitInvocation {
            directory: Some(&mirror.directory),
            verb: "fsck",
            arguments: &["--full", "--no-dangling", "--no-progress"],
            remote: &mirror.remote,
            limit: FETCH_TIMEOUT,
            most_bytes: REFS_BYTES,
            stdin: Stdio::null(),
        };
        let checked = self.git.run(call).await;
        matches!(checked, Err(GitError::Failed { .. }))
    }

    async fn clone_anew(&self, mirror: &GitMirror) -> Result<(), GitError> {
        let own = &mirror.directory;
        tracing::warn!(path = %own.display(), "a damaged copy of a repository is made anew");
        let fresh = on_disk(|| init_repository(mirror))?;
        self.fetch_into(&fresh, mirror, ALL_REFSPECS).await?;
        on_disk(|| replace_copy(&fresh, own))
    }

    /// Branches and tags of the copy itself: from the note beside it, or from git.
    async fn refs_of_copy(&self, mirror: &GitMirror) -> Result<GitRefs, GitError> {
        if let Some(refs) = on_disk(|| mirror.read_refs_note()) {
            return Ok(refs);
        }
        let call = GitInvocation {
            directory: Some(&mirror.directory),
            verb: "show-ref",
            arguments: &["--heads", "--tags", "--dereference"],
            remote: &mirror.remote,
            limit: LIST_TIMEOUT,
            most_bytes: REFS_BYTES,
            stdin: Stdio::null(),
        };
        match self.git.run(call).await {
            // Git's way of reporting that there are none.
            Err(GitError::Failed {
                status, message, ..
            }) if status.code() == Some(1) && message.is_empty() => Ok(GitRefs::default()),
            printed => parse_refs(&printed?, "show-ref", mirror),
        }
    }

    /// Branches and tags of the repository.
    async fn list(&self, mirror: &GitMirror) -> Result<GitRefs, GitError> {
        let _place = self.acquire_fetch_permit().await;
        let call = GitInvocation {
            directory: None,
            verb: "ls-remote",
            arguments: &["--heads", "--tags", "--", mirror.remote.as_str()],
            remote: &mirror.remote,
            limit: LIST_TIMEOUT,
            most_bytes: REFS_BYTES,
            stdin: Stdio::null(),
        };
        let printed = self.git.run(call).await?;
        parse_refs(&printed, "ls-remote", mirror)
    }

    async fn acquire_fetch_permit(&self) -> Option<tokio::sync::SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.shared.fetches.acquire().await.ok()
    }

    pub fn git(&self) -> &GitProgram {
        &self.git
    }
}

/// Creates an empty repository beside the copy, like `git init --bare`.
fn init_repository(mirror: &GitMirror) -> Result<PathBuf, GitError> {
    let fresh = mirror.directory.with_extension("new");
    remove_directory(&fresh)?;
    for part in ["objects/info", "objects/pack", "refs/heads", "refs/tags"] {
        create_directory(&fresh.join(part))?;
    }
    for (name, text) in [("HEAD", HEAD), ("config", CONFIG)] {
        let path = fresh.join(name);
        write_durably(&path, text).map_err(directory_error(&path))?;
    }
    Ok(fresh)
}

/// Gives a new copy the name of the one that it replaces, if there is one, and removes that.
fn replace_copy(fresh: &Path, own: &Path) -> Result<(), GitError> {
    if own.exists() {
        let exchanged = rustix::fs::renameat_with(CWD, fresh, CWD, own, RenameFlags::EXCHANGE);
        exchanged.map_err(|error| directory_error(own)(error.into()))?;
        return remove_directory(fresh);
    }
    std::fs::rename(fresh, own).map_err(directory_error(own))
}

/// Parses branches and tags as printed by git.
fn parse_refs(printed: &[u8], verb: &'static str, mirror: &GitMirror) -> Result<GitRefs, GitError> {
    GitRefs::parse(printed).map_err(|error| match error {
        RefsError::Unexpected => GitError::Unexpected {
            verb,
            remote: mirror.to_public_url(),
        },
        RefsError::TooMany => GitError::Refs {
            remote: mirror.to_public_url(),
        },
    })
}

/// True if an empty file is below a directory; a sound repository has none there. Names that cannot
/// be read are left to git.
fn has_empty_file(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => has_empty_file(&entry.path()),
        Ok(metadata) => metadata.is_file() && metadata.len() == 0,
        Err(_) => false,
    })
}

fn write_durably(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = std::fs::File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn create_directory(path: &Path) -> Result<(), GitError> {
    std::fs::create_dir_all(path).map_err(directory_error(path))
}

fn remove_directory(path: &Path) -> Result<(), GitError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(directory_error(path)(error))
        }
        _ => Ok(()),
    }
}

fn directory_error(path: &Path) -> impl FnOnce(std::io::Error) -> GitError {
    let path = path.to_owned();
    move |source| GitError::Directory { path, source }
}
