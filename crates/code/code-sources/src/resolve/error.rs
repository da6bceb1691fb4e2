//! Why an environment is not resolved: [`ResolveError`], [`ModuleError`].

use std::collections::BTreeSet;
use std::sync::Arc;

use ruby_regex::SearchError;

use crate::archive::ArchiveError;
use crate::git::{GitError, Wanted};
use crate::source::{DefinedError, FilterError};
use crate::svn::SvnError;

/// Why an environment cannot be resolved.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ResolveError {
    /// The Puppetfile makes no sense.
    #[error("{file} of the branch {branch}: {mistakes}")]
    Puppetfile {
        /// Its name.
        file: String,
        /// Where.
        branch: String,
        /// All that is wrong.
        mistakes: puppetfile::Mistakes,
    },
    /// It is not UTF-8.
    #[error("{file} of the branch {branch} is not UTF-8")]
    Encoding {
        /// Its name.
        file: String,
        /// Where.
        branch: String,
    },
    /// What the environment's own files are.
    #[error("the control repository: {0}")]
    Control(Arc<ModuleError>),
    /// A list and the Puppetfile name the same modules, and the list says that this is a mistake.
    #[error("{place} and the Puppetfile both name {names}, and module_conflicts is error")]
    Conflict {
        /// The list.
        place: String,
        /// Which.
        names: String,
    },
    /// Modules that cannot be had.
    #[error("{}", shown(.0))]
    Modules(Vec<(String, Arc<ModuleError>)>),
}

/// Why a module cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// Its repository.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Its repository, which another module asked too.
    #[error("{0}")]
    Asked(Arc<GitError>),
    /// Its repository has no such thing.
    #[error("{remote} has no {wanted}{}", fallback(.default))]
    NoSuch {
        /// The address, without credentials.
        remote: String,
        /// What was asked for.
        wanted: Wanted,
        /// What would have been taken instead.
        default: Option<String>,
    },
    /// Neither the Puppetfile nor the settings say.
    #[error("{place} names no branch, tag or commit; add one, or set a default (default_ref)")]
    Unnamed {
        /// A line of the Puppetfile, or of a list.
        place: String,
    },
    /// A source's filter.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The names of a source's branches.
    #[error("strip_component: {0}")]
    Strip(#[from] SearchError),
    /// A source's list.
    #[error(transparent)]
    Defined(#[from] DefinedError),
    /// The address of its Forge.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Subversion.
    #[error(transparent)]
    Svn(#[from] SvnError),
    /// What was asked for another environment too.
    #[error("{0}")]
    Again(Arc<ModuleError>),
}

fn fallback(default: &Option<String>) -> String {
    let default = default.as_ref();
    default.map_or_else(String::new, |branch| {
        format!(", nor its default branch {branch}")
    })
}

fn shown(failed: &[(String, Arc<ModuleError>)]) -> String {
    let said: BTreeSet<String> = failed
        .iter()
        .map(|(name, error)| format!("module {name}: {error}"))
        .collect();
    said.into_iter().collect::<Vec<_>>().join("\n")
}
