//! Where environments come from: [`Source`], and the names that branches get as environments.
//!
//! The rules that must hold: a branch has one name everywhere, r10k's; and two branches that would get the
//! same name are a fault that is told, not a race.

pub(crate) mod filter;
mod name;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use deploy::EnvironmentName;

pub use filter::FilterError;
pub use name::{InvalidBranches, NameError};

use crate::git::{Commit, Refs};

/// A repository whose branches are environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// For people.
    pub name: String,
    /// Its address.
    pub remote: String,
    /// What the names of its environments begin with, and an underscore.
    pub prefix: Option<String>,
    /// What is taken off the begin of a branch's name.
    pub strip_component: Option<String>,
    /// Branches that begin so are no environments.
    pub ignore_branch_prefixes: Vec<String>,
    /// What becomes of names that no environment can have.
    pub invalid_branches: InvalidBranches,
    /// `Puppetfile`.
    pub puppetfile: String,
    /// For the shell: which branches are environments.
    pub filter_command: Option<String>,
}

/// An environment that a source has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub environment: EnvironmentName,
    /// Where it comes from.
    pub source: Arc<Source>,
    /// Its branch there.
    pub branch: String,
    /// What the branch is at.
    pub commit: Commit,
}

/// The environments of all sources, and branches that are none.
#[derive(Clone, Debug, Default)]
pub struct Environments {
    /// By their names.
    pub found: BTreeMap<EnvironmentName, Found>,
    /// What is wrong with other branches.
    pub refused: Vec<NameError>,
}

// === impl Source ===

impl Source {
    /// A source with r10k's defaults.
    pub fn new(name: impl Into<String>, remote: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            remote: remote.into(),
            prefix: None,
            strip_component: None,
            ignore_branch_prefixes: Vec::new(),
            invalid_branches: InvalidBranches::CorrectAndWarn,
            puppetfile: "Puppetfile".to_owned(),
            filter_command: None,
        }
    }

    /// The environment that a branch is; `None`: it is none.
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

// === impl Environments ===

impl Environments {
    /// Adds what a source has, but for branches that its filter dropped.
    pub(crate) fn add(&mut self, source: &Arc<Source>, refs: &Refs, dropped: &BTreeSet<String>) {
        for (branch, commit) in refs.branches() {
            if source.is_ignored(branch) || dropped.contains(branch) {
                continue;
            }
            match name::environment(source, branch) {
                Ok(environment) => self.insert(Found {
                    environment,
                    source: Arc::clone(source),
                    branch: branch.to_owned(),
                    commit: commit.clone(),
                }),
                Err(error) => self.refused.push(error),
            }
        }
    }

    /// The first stays: which of two is meant, nobody can know.
    fn insert(&mut self, found: Found) {
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
