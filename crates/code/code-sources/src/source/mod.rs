//! Where environments come from: [`Source`], and the names that branches get as environments.
//!
//! The rules that must hold: a branch has one name everywhere, r10k's; and two branches that would get the
//! same name are a fault that is told, not a race.

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
    /// For people.
    pub name: String,
    /// What says which environments there are.
    pub kind: SourceKind,
    /// The repository's address; empty for lists.
    pub remote: String,
    /// What the names of its environments begin with, and an underscore.
    pub prefix: Option<String>,
    /// What is taken off branches' names.
    pub strip_component: Option<BranchStrip>,
    /// Branches that begin so are no environments.
    pub ignore_branch_prefixes: Vec<String>,
    /// What becomes of names that no environment can have.
    pub invalid_branches: InvalidBranches,
    /// `Puppetfile`.
    pub puppetfile: String,
    /// For the shell: which branches are environments.
    pub filter_command: Option<String>,
}

/// What says which environments a source has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The branches of a git repository.
    Git,
    /// Trunk and branches of a repository of Subversion.
    Svn {
        /// Who asks.
        login: Option<Login>,
    },
    /// A YAML file that names all of them.
    Yaml {
        /// Where it is.
        config: PathBuf,
    },
    /// A directory with a YAML file for each.
    YamlDir {
        /// Where it is.
        config: PathBuf,
    },
    /// What a program prints, as YAML or JSON.
    Exec {
        /// For the shell.
        command: String,
    },
}

/// An environment that a source has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundEnvironment {
    /// Its name.
    pub environment: EnvironmentName,
    /// Where it comes from.
    pub source: Arc<Source>,
    /// What it is called there: a branch, or an entry of a list.
    pub branch: String,
    /// Where its own files are.
    pub base: Base,
    /// What a list says of it.
    pub definition: Option<Arc<EnvironmentDefinition>>,
}

/// Where an environment's own files are: all but those of its modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// What a branch of the source's repository is at.
    Commit(Commit),
    /// What of a git repository.
    Git {
        /// The repository's address.
        remote: String,
        /// A branch, a tag or a commit.
        wanted: Wanted,
    },
    /// A directory in Subversion.
    Svn {
        /// Where it is.
        address: Address,
        /// Which revision; `None`: the newest.
        wanted: Option<String>,
    },
    /// An archive.
    Tarball {
        /// Its address.
        location: String,
        /// `None`: what it is when it comes first.
        sha256: Option<String>,
    },
    /// It has none.
    Plain,
}

/// The environments of all sources, and branches that are none.
#[derive(Clone, Debug, Default)]
pub struct Environments {
    /// By their names.
    pub found: BTreeMap<EnvironmentName, FoundEnvironment>,
    /// What is wrong with other branches.
    pub refused: Vec<NameError>,
}

// === impl Source ===

impl Source {
    /// The repository of a source in Subversion; `None`: it is none.
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

    /// The environment that a branch is, or an entry of a list; `None`: it is none.
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
    /// The name of its Puppetfile.
    pub fn puppetfile(&self) -> &str {
        let named = self.definition.as_ref();
        named.map_or(&self.source.puppetfile, |it| &it.puppetfile)
    }

    /// What its branch is at, if the source said so.
    pub fn commit(&self) -> Option<&Commit> {
        match &self.base {
            Base::Commit(commit) => Some(commit),
            Base::Git { .. } | Base::Svn { .. } | Base::Tarball { .. } | Base::Plain => None,
        }
    }

    /// What modules follow that follow their environment's branch; `None`: it has none.
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
    /// Adds what a source has, but for branches that its filter dropped.
    /// If nobody can say what a branch is called, it is not known which environments there are.
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

    /// Adds what a repository of Subversion has.
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

    /// Adds what a list has. Its names were looked at when it was read.
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

    /// The first stays: which of two is meant, nobody can know.
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
