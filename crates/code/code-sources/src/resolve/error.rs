//! Errors of resolving an environment: [`EnvironmentResolveError`], [`ModuleError`].

use std::collections::BTreeSet;
use std::sync::Arc;

use ruby_regex::SearchError;

use crate::archive::ArchiveError;
use crate::git::{GitError, GitReference};
use crate::source::{DefinitionListError, FilterError};
use crate::svn::SvnError;

/// The error for an environment that cannot be resolved.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EnvironmentResolveError {
    /// The Puppetfile is invalid.
    #[error("{file} of the branch {branch}: {mistakes}")]
    Puppetfile {
        /// Name of the Puppetfile.
        file: String,
        /// Branch that contains it.
        branch: String,
        /// All errors in the Puppetfile.
        mistakes: puppetfile::PuppetfileErrors,
    },
    /// The Puppetfile is not UTF-8.
    #[error("{file} of the branch {branch} is not UTF-8")]
    Encoding {
        /// Name of the Puppetfile.
        file: String,
        /// Branch that contains it.
        branch: String,
    },
    /// The environment's own files cannot be resolved.
    #[error("the control repository: {0}")]
    Control(Arc<ModuleError>),
    /// A list and the Puppetfile declare the same modules, and the list defines this as an error.
    #[error("{place} and the Puppetfile both name {names}, and module_conflicts is error")]
    Conflict {
        /// The list, for messages.
        place: String,
        /// Names of the modules.
        names: String,
    },
    /// Modules cannot be resolved.
    #[error("{}", list_failures(.0))]
    Modules(Vec<(String, Arc<ModuleError>)>),
}

/// The error for a module that cannot be resolved.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// Its repository cannot be used.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Its repository, which another module uses too, cannot be used.
    #[error("{0}")]
    RefsQuery(Arc<GitError>),
    /// Its repository does not have the reference.
    #[error("{remote} has no {wanted}{}", describe_default_branch(.default))]
    NoSuch {
        /// The repository, without credentials.
        remote: String,
        /// The requested reference.
        wanted: GitReference,
        /// The default that was tried too, if any.
        default: Option<String>,
    },
    /// Neither the Puppetfile nor the settings name a reference.
    #[error("{place} names no branch, tag or commit; add one, or set a default (default_ref)")]
    Unnamed {
        /// A line of the Puppetfile, or of a list.
        place: String,
    },
    /// A source's filter failed.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// A source's branch names cannot be converted.
    #[error("strip_component: {0}")]
    Strip(#[from] SearchError),
    /// A source's list cannot be used.
    #[error(transparent)]
    Defined(#[from] DefinitionListError),
    /// Its Forge or archive cannot be used.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Subversion failed.
    #[error(transparent)]
    Svn(#[from] SvnError),
    /// The same query failed for another environment.
    #[error("{0}")]
    RepeatedQuery(Arc<ModuleError>),
}

fn describe_default_branch(default: &Option<String>) -> String {
    let default = default.as_ref();
    default.map_or_else(String::new, |branch| {
        format!(", nor its default branch {branch}")
    })
}

fn list_failures(failed: &[(String, Arc<ModuleError>)]) -> String {
    let said: BTreeSet<String> = failed
        .iter()
        .map(|(name, error)| format!("module {name}: {error}"))
        .collect();
    said.into_iter().collect::<Vec<_>>().join("\n")
}
