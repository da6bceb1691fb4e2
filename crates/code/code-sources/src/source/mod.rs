//! The sources of environments: [`EnvironmentSource`], and the names of environments from branches.
//!
//! Invariants: a branch has one name everywhere, the same as in r10k; and two branches that would
//! get the same name are a reported error, not a race.

pub mod definition_lists;
pub mod filter;
mod name;
mod strip;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use environments::EnvironmentName;
use ruby_regex::SearchError;

pub use definition_lists::{DefinitionListError, EnvironmentDefinition, ModuleConflicts};
pub use filter::FilterError;
pub use name::{InvalidBranches, NameError};
pub use strip::BranchStrip;

use crate::git::{CommitHash, GitReference, GitRefs};
use crate::svn::{SvnAddress, SvnLogin};

/// A repository whose branches are environments, or a list of environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentSource {
    /// Name of the source, for messages.
    pub name: String,
    /// The kind of the source.
    pub kind: SourceKind,
    /// The repository's address; empty for lists.
    pub remote: String,
    /// Prefix of the names of its environments, followed by an underscore; `None`: no prefix.
    pub prefix: Option<String>,
    /// The part that is removed from branch names; `None`: nothing.
    pub strip_component: Option<BranchStrip>,
    /// Branches with one of these prefixes are not environments.
    pub ignore_branch_prefixes: Vec<String>,
    /// Treatment of branch names that no environment can have.
    pub invalid_branches: InvalidBranches,
    /// Name of the file, `Puppetfile` by default.
    pub puppetfile: String,
    /// Shell command that decides which branches are environments; `None`: all are.
    pub filter_command: Option<String>,
}

/// The kind of a source, which determines its environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// Environments are the branches of a git repository.
    Git,
    /// Environments are trunk and branches of a Subversion repository.
    Svn {
        /// Credentials for the repository; `None`: the user's own settings of Subversion.
        login: Option<SvnLogin>,
    },
    /// A YAML file that defines all environments.
    Yaml {
        /// Path of the file.
        config: PathBuf,
    },
    /// A directory with a YAML file for each environment.
    YamlDir {
        /// Path of the directory.
        config: PathBuf,
    },
    /// The output of a program, as YAML or JSON.
    Exec {
        /// Path of the program, which is run without a shell and without arguments.
        command: String,
    },
}

/// An environment of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundEnvironment {
    /// Name of the environment.
    pub environment: EnvironmentName,
    /// The source of the environment.
    pub source: Arc<EnvironmentSource>,
    /// Its name in the source: a branch, or an entry of a list.
    pub branch: String,
    /// Location of its own files.
    pub base: EnvironmentBase,
    /// Its definition in a list; `None` for a branch.
    pub definition: Option<Arc<EnvironmentDefinition>>,
}

/// Location of an environment's own files, which are all except those of its modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvironmentBase {
    /// The current commit of a branch of the source's repository.
    Commit(CommitHash),
    /// A reference in a git repository.
    Git {
        /// The repository's address.
        remote: String,
        /// A branch, a tag or a commit.
        wanted: GitReference,
    },
    /// A directory in Subversion.
    Svn {
        /// Address of the directory.
        address: SvnAddress,
        /// The revision; `None`: the newest.
        wanted: Option<String>,
    },
    /// An archive with the files.
    Tarball {
        /// URL or path of the archive.
        location: String,
        /// The expected checksum; `None`: that of the first download.
        sha256: Option<String>,
    },
    /// The environment has no files of its own.
    NoFiles,
}

/// The environments of all sources, and branches that are not environments.
#[derive(Clone, Debug, Default)]
pub struct FoundEnvironments {
    /// The environments, sorted by name.
    pub by_name: BTreeMap<EnvironmentName, FoundEnvironment>,
    /// The errors of the other branches.
    pub errors: Vec<NameError>,
}

// === impl EnvironmentSource ===

impl EnvironmentSource {
    /// The repository of a source in Subversion; `None` for other sources.
    pub fn svn_address(&self) -> Option<SvnAddress> {
        match &self.kind {
            SourceKind::Svn { login } => Some(SvnAddress {
                url: self.remote.clone(),
                login: login.clone(),
            }),
            _ => None,
        }
    }

    /// A source with r10k's defaults.
    pub fn new(name: impl Into<String>, remote: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: SourceKind::Git,
            remote: remote.into(),
            prefix: None,
            strip_component: None,
            ignore_branch_prefixes: Vec::new(),
            invalid_branches: InvalidBranches::CorrectAndWarn,
            puppetfile: "Puppetfile".to_owned(),
            filter_command: None,
        }
    }

    /// The environment of a branch, or of an entry of a list; `None` if it is none.
    pub fn environment_name(&self, branch: &str) -> Option<EnvironmentName> {
        match self.is_ignored(branch) {
            true => None,
            false => name::branch_environment_name(self, branch).ok(),
        }
    }

    pub(crate) fn is_ignored(&self, branch: &str) -> bool {
        let mut prefixes = self.ignore_branch_prefixes.iter();
        prefixes.any(|prefix| branch.starts_with(prefix.as_str()))
    }
}

// === impl FoundEnvironment ===

impl FoundEnvironment {
    /// Name of the environment's Puppetfile.
    pub fn puppetfile(&self) -> &str {
        let named = self.definition.as_ref();
        named.map_or(&self.source.puppetfile, |it| &it.puppetfile)
    }

    /// The commit of its branch, if the source determined it.
    pub fn commit(&self) -> Option<&CommitHash> {
        match &self.base {
            EnvironmentBase::Commit(commit) => Some(commit),
            EnvironmentBase::Git { .. }
            | EnvironmentBase::Svn { .. }
            | EnvironmentBase::Tarball { .. }
            | EnvironmentBase::NoFiles => None,
        }
    }

    /// The reference for modules that follow their environment's branch; `None` if it has no
    /// branch.
    pub(crate) fn control_branch(&self) -> Option<GitReference> {
        match &self.base {
            EnvironmentBase::Commit(_) => Some(GitReference::Branch(self.branch.clone())),
            EnvironmentBase::Git { wanted, .. } => Some(wanted.clone()),
            EnvironmentBase::Svn { .. }
            | EnvironmentBase::Tarball { .. }
            | EnvironmentBase::NoFiles => None,
        }
    }
}

// === impl FoundEnvironments ===

impl FoundEnvironments {
    /// Adds the branches of a source, except those that its filter excluded. If the name of one
    /// cannot be determined, the set of environments is unknown, which is an error.
    pub fn add(
        &mut self,
        source: &Arc<EnvironmentSource>,
        refs: &GitRefs,
        dropped: &BTreeSet<String>,
    ) -> Result<(), SearchError> {
        for (branch, commit) in refs.branches() {
            if source.is_ignored(branch) || dropped.contains(branch) {
                continue;
            }
            match name::branch_environment_name(source, branch) {
                Ok(environment) => self.insert(FoundEnvironment {
                    environment,
                    source: Arc::clone(source),
                    branch: branch.to_owned(),
                    base: EnvironmentBase::Commit(commit.clone()),
                    definition: None,
                }),
                Err(NameError::Strip(error)) => return Err(error),
                Err(error) => self.errors.push(error),
            }
        }
        Ok(())
    }

    /// Adds the branches of a Subversion repository.
    pub fn add_svn(
        &mut self,
        source: &Arc<EnvironmentSource>,
        branches: Vec<(String, SvnAddress)>,
    ) -> Result<(), SearchError> {
        for (branch, address) in branches {
            if source.is_ignored(&branch) {
                continue;
            }
            match name::branch_environment_name(source, &branch) {
                Ok(environment) => self.insert(FoundEnvironment {
                    environment,
                    source: Arc::clone(source),
                    branch,
                    base: EnvironmentBase::Svn {
                        address,
                        wanted: None,
                    },
                    definition: None,
                }),
                Err(NameError::Strip(error)) => return Err(error),
                Err(error) => self.errors.push(error),
            }
        }
        Ok(())
    }

    /// Adds the environments of a list. Their names were checked when it was read.
    pub fn add_defined(
        &mut self,
        source: &Arc<EnvironmentSource>,
        definitions: Vec<EnvironmentDefinition>,
    ) {
        for definition in definitions {
            self.insert(FoundEnvironment {
                environment: definition.environment.clone(),
                source: Arc::clone(source),
                branch: definition.name.clone(),
                base: definition.base.clone(),
                definition: Some(Arc::new(definition)),
            });
        }
    }

    /// Adds an environment. If its name is taken, the first one stays: there is no way to know
    /// which is intended.
    fn insert(&mut self, found: FoundEnvironment) {
        match self.by_name.get(&found.environment) {
            Some(first) => self.errors.push(NameError::Taken {
                environment: found.environment.clone(),
                branch: found.branch,
                source_name: found.source.name.clone(),
                first: first.branch.clone(),
                first_source: first.source.name.clone(),
            }),
            None => drop(self.by_name.insert(found.environment.clone(), found)),
        }
    }
}
