//! The modules that an environment names, in its Puppetfile or in a list.
//!
//! Invariant: a Puppetfile is read once and shared by all callers, since its origin never changes.

use std::sync::{Arc, PoisonError};

use puppetfile::Puppetfile;

use super::{Deployer, blocking};
use crate::defaults::PUPPETFILES;
use crate::error::DeployError;
use code_sources::git::{Commit, read_file};
use code_sources::resolve::{FixedControl, ResolveError};
use code_sources::source::{FoundEnvironment, ModuleConflicts};
use code_sources::source_trees::{CONTROL_NAME, TakeError, TreesError};
use code_store::content::Manifest;

impl Deployer {
    /// The modules of an environment, including those that a list names, and notes about them for users.
    pub(super) async fn file(
        &self,
        found: &FoundEnvironment,
        fixed: &FixedControl,
    ) -> Result<(Arc<Puppetfile>, Vec<String>), DeployError> {
        let file = match fixed {
            FixedControl::Plain => None,
            FixedControl::Git { .. } | FixedControl::Svn { .. } | FixedControl::Tarball { .. } => {
                self.puppetfile(found, fixed).await?
            }
        };
        let file = file.unwrap_or_default();
        let Some(definition) = &found.definition else {
            return Ok((file, Vec::new()));
        };
        let (merged, both) = definition.merged(&file);
        let note = |name| {
            format!(
                "{name} of the Puppetfile gives way: {} names it",
                definition.place
            )
        };
        let notes = match definition.conflicts {
            ModuleConflicts::Error if !both.is_empty() => {
                return Err(ResolveError::Conflict {
                    place: definition.place.clone(),
                    names: both.join(", "),
                }
                .into());
            }
            ModuleConflicts::OverrideAndWarn => both.into_iter().map(note).collect(),
            ModuleConflicts::Override | ModuleConflicts::Error => Vec::new(),
        };
        Ok((Arc::new(merged), notes))
    }

    /// The Puppetfile among an environment's own files; `None` if there is none.
    async fn puppetfile(
        &self,
        found: &FoundEnvironment,
        fixed: &FixedControl,
    ) -> Result<Option<Arc<Puppetfile>>, DeployError> {
        let key = (fixed.id(), found.puppetfile().to_owned());
        let read = {
            let puppetfiles = self.shared.puppetfiles.lock();
            let mut puppetfiles = puppetfiles.unwrap_or_else(PoisonError::into_inner);
            if puppetfiles.len() >= PUPPETFILES {
                puppetfiles.clear();
            }
            Arc::clone(puppetfiles.entry(key).or_default())
        };
        let read = read.get_or_try_init(|| self.read_puppetfile(found, fixed));
        Ok(read.await?.clone())
    }

    async fn read_puppetfile(
        &self,
        found: &FoundEnvironment,
        fixed: &FixedControl,
    ) -> Result<Option<Arc<Puppetfile>>, DeployError> {
        let name = found.puppetfile().to_owned();
        let bytes = match fixed {
            FixedControl::Git { remote, commit } => self.read_of_git(remote, commit, &name).await?,
            FixedControl::Svn { address, revision } => {
                let tree = Box::pin(self.shared.trees.revision_here(address, *revision)).await;
                self.read_of_tree(tree, &name)?
            }
            FixedControl::Tarball { location, sha256 } => {
                let tree = Box::pin(self.shared.trees.archive_here(location, sha256)).await;
                self.read_of_tree(tree, &name)?
            }
            FixedControl::Plain => None,
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
        Ok(Some(Arc::new(parsed)))
    }

    fn read_of_tree(
        &self,
        tree: Result<Manifest, TakeError>,
        name: &str,
    ) -> Result<Option<Vec<u8>>, DeployError> {
        let failed = |error| -> DeployError {
            TreesError::Taking(vec![(CONTROL_NAME.to_owned(), error)]).into()
        };
        Ok(self.shared.trees.file_of(&tree.map_err(failed)?, name)?)
    }

    async fn read_of_git(
        &self,
        remote: &str,
        commit: &Commit,
        name: &str,
    ) -> Result<Option<Vec<u8>>, DeployError> {
        let mirror = self.shared.mirrors.mirror(remote)?;
        let read = || {
            let (git, file) = (self.shared.mirrors.git().clone(), name.to_owned());
            let (mirror, commit) = (Arc::clone(&mirror), commit.clone());
            let trees = self.shared.trees.clone();
            blocking(move || match trees.file(&mirror, &commit, &file) {
                Some(bytes) => Ok(Some(bytes)),
                None => Ok(read_file(&git, &mirror, &commit, &file)?),
            })
        };
        match read().await {
            Err(DeployError::Tree(error)) if error.is_of_the_copy() => {
                self.shared.mirrors.renew(&mirror, commit).await?;
                read().await
            }
            bytes => bytes,
        }
    }
}
