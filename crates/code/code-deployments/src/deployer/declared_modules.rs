//! The modules that an environment names, in its Puppetfile or in a list.
//!
//! Invariant: a Puppetfile is read once and shared by all callers, since its origin never changes.

use std::sync::{Arc, PoisonError};

use puppetfile::Puppetfile;

use super::{Deployer, run_blocking};
use crate::defaults::PUPPETFILES;
use crate::error::DeploymentError;
use code_sources::git::{CommitHash, read_file};
use code_sources::resolve::{EnvironmentResolveError, ResolvedControl};
use code_sources::source::{FoundEnvironment, ModuleConflicts};
use code_sources::source_trees::{CONTROL_NAME, TreeFetchError, VersionFetchError};
use code_store::content::TreeManifest;

impl Deployer {
    /// The modules of an environment, including those that a list names, and notes about them for
    /// users.
    pub(super) async fn environment_puppetfile(
        &self,
        found: &FoundEnvironment,
        fixed: &ResolvedControl,
    ) -> Result<(Arc<Puppetfile>, Vec<String>), DeploymentError> {
        let file = match fixed {
            ResolvedControl::NoFiles => None,
            ResolvedControl::Git { .. }
            | ResolvedControl::Svn { .. }
            | ResolvedControl::Tarball { .. } => self.find_puppetfile(found, fixed).await?,
        };
        let file = file.unwrap_or_default();
        let Some(definition) = &found.definition else {
            return Ok((file, Vec::new()));
        };
        let (merged, both) = definition.merge_modules(&file);
        let note = |name| {
            format!(
                "{name} of the Puppetfile gives way: {} names it",
                definition.location
            )
        };
        let notes = match definition.conflicts {
            ModuleConflicts::Error if !both.is_empty() => {
                return Err(EnvironmentResolveError::Conflict {
                    place: definition.location.clone(),
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
    async fn find_puppetfile(
        &self,
        found: &FoundEnvironment,
        fixed: &ResolvedControl,
    ) -> Result<Option<Arc<Puppetfile>>, DeploymentError> {
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
        fixed: &ResolvedControl,
    ) -> Result<Option<Arc<Puppetfile>>, DeploymentError> {
        let name = found.puppetfile().to_owned();
        let bytes = match fixed {
            ResolvedControl::Git { remote, commit } => {
                self.read_from_git(remote, commit, &name).await?
            }
            ResolvedControl::Svn { address, revision } => {
                let tree =
                    Box::pin(self.shared.trees.find_or_take_revision(address, *revision)).await;
                self.read_from_tree(tree, &name)?
            }
            ResolvedControl::Tarball { location, sha256 } => {
                let tree = Box::pin(self.shared.trees.fetch_archive(location, sha256)).await;
                self.read_from_tree(tree, &name)?
            }
            ResolvedControl::NoFiles => None,
        };
        let Some(bytes) = bytes else {
            return Ok(None);
        };
        let text = String::from_utf8(bytes).map_err(|_| EnvironmentResolveError::Encoding {
            file: name.clone(),
            branch: found.branch.clone(),
        })?;
        let parsed =
            puppetfile::parse(&text).map_err(|mistakes| EnvironmentResolveError::Puppetfile {
                file: name,
                branch: found.branch.clone(),
                mistakes,
            })?;
        Ok(Some(Arc::new(parsed)))
    }

    fn read_from_tree(
        &self,
        tree: Result<TreeManifest, TreeFetchError>,
        name: &str,
    ) -> Result<Option<Vec<u8>>, DeploymentError> {
        let failed = |error| -> DeploymentError {
            VersionFetchError::Taking(vec![(CONTROL_NAME.to_owned(), error)]).into()
        };
        Ok(self.shared.trees.read_file(&tree.map_err(failed)?, name)?)
    }

    async fn read_from_git(
        &self,
        remote: &str,
        commit: &CommitHash,
        name: &str,
    ) -> Result<Option<Vec<u8>>, DeploymentError> {
        let mirror = self.shared.mirrors.mirror(remote)?;
        let read = || {
            let (git, file) = (self.shared.mirrors.git().clone(), name.to_owned());
            let (mirror, commit) = (Arc::clone(&mirror), commit.clone());
            let trees = self.shared.trees.clone();
            run_blocking(move || match trees.fetch_file(&mirror, &commit, &file) {
                Some(bytes) => Ok(Some(bytes)),
                None => Ok(read_file(&git, &mirror, &commit, &file)?),
            })
        };
        match read().await {
            Err(DeploymentError::Tree(error)) if error.is_mirror_error() => {
                self.shared.mirrors.renew(&mirror, commit).await?;
                read().await
            }
            bytes => bytes,
        }
    }
}
