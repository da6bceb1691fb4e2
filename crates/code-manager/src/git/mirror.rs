//! Our copy of a repository: [`Mirror`]; all of them: [`Mirrors`].
//!
//! The rules that must hold: one fetch at a time goes into a copy; a copy is only read, never changed, but
//! by a fetch; what git has once is never removed by us while somebody may read it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::Digest as _;
use tokio::sync::Semaphore;

use super::program::{Git, GitError, checked, shown};
use super::refs::{Commit, Refs, Wanted};
use crate::defaults::{FETCH_TIMEOUT, FETCHES, LIST_TIMEOUT};

/// Copies of repositories, below one directory. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Mirrors {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    git: Git,
    /// By addresses.
    mirrors: Mutex<HashMap<String, Arc<Mirror>>>,
    fetches: Semaphore,
}

/// The copy of one repository.
#[derive(Debug)]
pub struct Mirror {
    remote: String,
    directory: PathBuf,
    /// What the copy has; `None`: it was not looked at yet. Held while it is fetched into.
    refs: tokio::sync::Mutex<Option<Arc<Refs>>>,
}

// === impl Mirrors ===

impl Mirrors {
    /// Copies below this directory, made when they are needed.
    pub fn new(directory: impl Into<PathBuf>, git: Git) -> Self {
        Self {
            shared: Arc::new(Shared {
                directory: directory.into(),
                git,
                mirrors: Mutex::default(),
                fetches: Semaphore::new(FETCHES),
            }),
        }
    }

    /// The copy of a repository.
    pub fn mirror(&self, remote: &str) -> Result<Arc<Mirror>, GitError> {
        let remote = checked(remote)?;
        let mirrors = self.shared.mirrors.lock();
        let mut mirrors = mirrors.unwrap_or_else(PoisonError::into_inner);
        let made = mirrors.entry(remote.to_owned()).or_insert_with(|| {
            Arc::new(Mirror {
                remote: remote.to_owned(),
                directory: self.shared.directory.join(directory_name(remote)),
                refs: tokio::sync::Mutex::default(),
            })
        });
        Ok(Arc::clone(made))
    }

    /// Asks the repository what it has, and fetches it if that changed.
    pub async fn refresh(&self, mirror: &Mirror) -> Result<Arc<Refs>, GitError> {
        let mut known = mirror.refs.lock().await;
        let arguments = ["--heads", "--tags", "--", mirror.remote.as_str()];
        let listed = {
            let _place = self.place().await;
            self.list(mirror, &arguments).await?
        };
        if known.is_none() && mirror.directory.is_dir() {
            *known = self.own(mirror).await.ok().map(Arc::new);
        }
        if let Some(known) = known.as_ref().filter(|known| ***known == listed) {
            return Ok(Arc::clone(known));
        }
        self.fetch(
            mirror,
            &["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"],
        )
        .await?;
        let refs = Arc::new(self.own(mirror).await?);
        *known = Some(Arc::clone(&refs));
        Ok(refs)
    }

    /// What the copy has, without asking the repository; `None`: there is no copy.
    pub async fn known(&self, mirror: &Mirror) -> Result<Option<Arc<Refs>>, GitError> {
        let mut known = mirror.refs.lock().await;
        if known.is_none() && mirror.directory.is_dir() {
            *known = self.own(mirror).await.ok().map(Arc::new);
        }
        Ok(known.clone())
    }

    /// The commit that a name stands for in the copy.
    pub async fn find(
        &self,
        mirror: &Mirror,
        refs: &Refs,
        wanted: &Wanted,
    ) -> Result<Option<Commit>, GitError> {
        let named = match wanted {
            Wanted::Branch(name) => return Ok(refs.branch(name).cloned()),
            Wanted::Tag(name) => return Ok(refs.tag(name).cloned()),
            Wanted::Any(name) => refs.branch(name).or_else(|| refs.tag(name)).cloned(),
            Wanted::Commit(_) => None,
        };
        match (named, wanted) {
            (Some(commit), _) => Ok(Some(commit)),
            (None, Wanted::Any(name) | Wanted::Commit(name)) => self.parse(mirror, name).await,
            (None, _) => Ok(None),
        }
    }

    /// Fetches a commit that no branch and no tag leads to, where the repository gives such.
    pub async fn fetch_commit(&self, mirror: &Mirror, commit: &Commit) -> Result<(), GitError> {
        let _fetching = mirror.refs.lock().await;
        self.fetch(mirror, &[commit.as_str()]).await
    }

    /// A commit by its digits, whole or shortened.
    async fn parse(&self, mirror: &Mirror, name: &str) -> Result<Option<Commit>, GitError> {
        let is_digits = name.len() >= 4 && name.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_digits || !mirror.directory.is_dir() {
            return Ok(None);
        }
        let wanted = format!("{}^{{commit}}", name.to_ascii_lowercase());
        let arguments = ["--verify", "--quiet", "--end-of-options", wanted.as_str()];
        let directory = Some(mirror.directory.as_path());
        let what = ("rev-parse", mirror.remote.as_str());
        match self
            .shared
            .git
            .run(directory, what, &arguments, LIST_TIMEOUT)
            .await
        {
            Ok(printed) => Ok(String::from_utf8_lossy(&printed).trim().parse().ok()),
            Err(GitError::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn fetch(&self, mirror: &Mirror, what: &[&str]) -> Result<(), GitError> {
        let _place = self.place().await;
        let git = &self.shared.git;
        let remote = mirror.remote.as_str();
        if !mirror.directory.is_dir() {
            make(&self.shared.directory)?;
            // Only a whole repository gets the name.
            let fresh = mirror.directory.with_extension("new");
            let path = fresh.to_string_lossy().into_owned();
            remove(&fresh)?;
            let arguments = ["--quiet", "--bare", "--template=", path.as_str()];
            git.run(None, ("init", remote), &arguments, LIST_TIMEOUT)
                .await?;
            std::fs::rename(&fresh, &mirror.directory).map_err(directory(&mirror.directory))?;
        }
        let mut arguments = vec![
            "--quiet",
            "--force",
            "--prune",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--",
            remote,
        ];
        arguments.extend_from_slice(what);
        let own = Some(mirror.directory.as_path());
        git.run(own, ("fetch", remote), &arguments, FETCH_TIMEOUT)
            .await?;
        Ok(())
    }

    /// What the copy itself has.
    async fn own(&self, mirror: &Mirror) -> Result<Refs, GitError> {
        let path = mirror.directory.to_string_lossy();
        self.list(mirror, &["--heads", "--tags", "--", &path]).await
    }

    async fn list(&self, mirror: &Mirror, arguments: &[&str]) -> Result<Refs, GitError> {
        let what = ("ls-remote", mirror.remote.as_str());
        let printed = self
            .shared
            .git
            .run(None, what, arguments, LIST_TIMEOUT)
            .await?;
        Refs::parse(&printed).ok_or_else(|| GitError::Unexpected {
            verb: "ls-remote",
            remote: shown(&mirror.remote),
        })
    }

    async fn place(&self) -> Option<tokio::sync::SemaphorePermit<'_>> {
        // It is never closed.
        self.shared.fetches.acquire().await.ok()
    }

    pub(crate) fn git(&self) -> &Git {
        &self.shared.git
    }
}

// === impl Mirror ===

impl Mirror {
    /// The repository's address, without credentials.
    pub fn shown(&self) -> String {
        shown(&self.remote)
    }

    /// Where the copy is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// A name that no other address has, for people to find too.
fn directory_name(remote: &str) -> String {
    let digest: [u8; 32] = sha2::Sha256::digest(remote.as_bytes()).into();
    let digest: String = digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let last = remote.trim_end_matches('/').rsplit(['/', ':']).next();
    let last = last.unwrap_or_default().trim_end_matches(".git");
    let safe = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let last: String = last.chars().filter(safe).take(40).collect();
    format!("{last}-{digest}.git")
}

fn make(path: &Path) -> Result<(), GitError> {
    std::fs::create_dir_all(path).map_err(directory(path))
}

fn remove(path: &Path) -> Result<(), GitError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(directory(path)(error)),
        _ => Ok(()),
    }
}

fn directory(path: &Path) -> impl FnOnce(std::io::Error) -> GitError {
    let path = path.to_owned();
    move |source| GitError::Directory { path, source }
}
