//! The sources of environments: [`Source`], and the names of environments from branches.
//!
//! Invariants: a branch has one name everywhere, the same as in r10k; and two branches that would
//! get the same name are a reported error, not a race.

pub mod defined;
pub mod filter;
mod name;
mod strip;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use environments::EnvironmentName;
use ruby_regex::SearchError;

pub use defined::{DefinedError, EnvironmentDefinition, ModuleConflicts};
pub use filter::FilterError;
pub use name::{InvalidBranches, NameError};
pub use strip::BranchStrip;

use crate::git::{Commit, Refs, Wanted};
use crate::svn::{Address, Login};

/// A repository whose branches are environments, or a list of environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
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
        login: Option<Login>,
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
    pub source: Arc<Source>,
    /// Its name in the source: a branch, or an entry of a list.
    pub branch: String,
    /// Location of its own files.
    pub base: Base,
    /// Its definition in a list; `None` for a branch.
    pub definition: Option<Arc<EnvironmentDefinition>>,
}

/// Location of an environment's own files, which are all except those of its modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// The current commit of a branch of the source's repository.
    Commit(Commit),
    /// A reference in a git repository.
    Git {
        /// The repository's address.
        remote: String,
        /// A branch, a tag or a commit.
        wanted: Wanted,
    },
    /// A directory in Subversion.
    Svn {
        /// Address of the directory.
        address: Address,
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
    Plain,
}

/// The environments of all sources, and branches that are not environments.
#[derive(Clone, Debug, Default)]
pub struct Environments {
    /// The environments, sorted by name.
    pub found: BTreeMap<EnvironmentName, FoundEnvironment>,
    /// The errors of the other branches.
    pub refused: Vec<NameError>,
}

// === impl Source ===

impl Source {
    /// The repository of a source in Subversion; `None` for other sources.
    pub fn svn(&self) -> Option<Address> {
        match &self.kind {
            SourceKind::Svn { login } => Some(Address {
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
    pub fn environment(&self, branch: &str) -> Option<EnvironmentName> {
        match self.is_ignored(branch) {
            true => None,
            false => name::environment(self, branch).ok(),
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
    pub fn commit(&self) -> Option<&Commit> {
        match &self.base {
            Base::Commit(commit) => Some(commit),
            Base::Git { .. } | Base::Svn { .. } | Base::Tarball { .. } | Base::Plain => None,
        }
    }

    /// The reference for modules that follow their environment's branch; `None` if it has no
    /// branch.
    pub(crate) fn control_branch(&self) -> Option<Wanted> {
        match &self.base {
            Base::Commit(_) => Some(Wanted::Branch(self.branch.clone())),
            Base::Git { wanted, .. } => Some(wanted.clone()),
            Base::Svn { .. } | Base::Tarball { .. } | Base::Plain => None,
        }
    }
}

// === impl Environments ===

impl Environments {
    /// Adds the branches of a source, except those that its filter excluded. If the name of one
    /// cannot be determined, the set of environments is unknown, which is an error.
    pub fn add(
        &mut self,
        source: &Arc<Source>,
        refs: &Refs,
        dropped: &BTreeSet<String>,
    ) -> Result<(), SearchError> {
        for (branch, commit) in refs.branches() {
            if source.is_ignored(branch) || dropped.contains(branch) {
                continue;
            }
            match name::environment(source, branch) {
                Ok(environment) => self.insert(FoundEnvironment {
                    environment,
                    source: Arc::clone(source),
                    branch: branch.to_owned(),
                    base: Base::Commit(commit.clone()),
                    definition: None,
                }),
                Err(NameError::Strip(error)) => return Err(error),
                Err(error) => self.refused.push(error),
            }
        }
        Ok(())
    }

    /// Adds the branches of a Subversion repository.
    pub fn add_svn(
        &mut self,
        source: &Arc<Source>,
        branches: Vec<(String, Address)>,
    ) -> Result<(), SearchError> {
        for (branch, address) in branches {
            if source.is_ignored(&branch) {
                continue;
            }
            match name::environment(source, &branch) {
                Ok(environment) => self.insert(FoundEnvironment {
                    environment,
                    source: Arc::clone(source),
                    branch,
                    base: Base::Svn {
                        address,
                        wanted: None,
                    },
                    definition: None,
                }),
                Err(NameError::Strip(error)) => return Err(error),
                Err(error) => self.refused.push(error),
            }
        }
        Ok(())
    }

    /// Adds the environments of a list. Their names were checked when it was read.
    pub fn add_defined(&mut self, source: &Arc<Source>, definitions: Vec<EnvironmentDefinition>) {
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
        match self.found.get(&found.environment) {
            Some(first) => self.refused.push(NameError::Taken {
                environment: found.environment.clone(),
                branch: found.branch,
                source_name: found.source.name.clone(),
                first: first.branch.clone(),
                first_source: first.source.name.clone(),
            }),
            None => drop(self.found.insert(found.environment.clone(), found)),
        }
    }
}
