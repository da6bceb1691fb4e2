//! What is deployed from where: [`Settings`].

mod r10k;

use std::path::PathBuf;
use std::sync::Arc;

pub use r10k::{R10k, R10kError};

use crate::source::Source;

/// All settings of deployments.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The control repositories.
    pub sources: Vec<Arc<Source>>,
    /// Where copies of repositories, content and versions are.
    pub directory: PathBuf,
    /// Puppet's `environments`.
    pub environments: PathBuf,
    /// What is taken of a repository of which the Puppetfile names nothing.
    pub default_ref: Option<String>,
    /// Whether modules come without their `spec` directories.
    pub exclude_spec: bool,
}

impl Settings {
    /// Settings with r10k's defaults.
    pub fn new(directory: impl Into<PathBuf>, environments: impl Into<PathBuf>) -> Self {
        Self {
            sources: Vec::new(),
            directory: directory.into(),
            environments: environments.into(),
            default_ref: None,
            exclude_spec: true,
        }
    }
}
