//! Settings of code deployment: [`DeploymentSettings`], read from an `r10k.yaml`, g10k's
//! configuration or Code Manager's Hiera data.
//!
//! Main types: [`R10kSettings`], one such file after parsing; [`R10kFile`], a file that may change
//! while the server runs.
//!
//! Invariant: a setting has one value, whichever of these formats it comes from.

mod code_manager;
pub mod defaults;
mod file;
mod g10k;
mod generate_types;
mod git;
mod r10k;
mod sources;

use std::path::PathBuf;
use std::sync::Arc;

pub use code_manager::HookAddress;
pub use file::{R10kFile, R10kFileError, R10kText};
pub use generate_types::GenerateTypes;
pub use r10k::{R10kError, R10kSettings, UnsupportedSetting};

use crate::defaults::DEPLOYS_AT_ONCE;
use code_sources::archive::ForgeSettings;
use code_sources::resolve::ResolveSettings;
use code_sources::source::EnvironmentSource;
use code_store::gc::RetentionSettings;

/// All settings of deployments.
#[derive(Clone, Debug)]
pub struct DeploymentSettings {
    /// The control repositories, and lists of environments.
    pub sources: Vec<Arc<EnvironmentSource>>,
    /// Directory of the copies of repositories, of content and of versions.
    pub directory: PathBuf,
    /// Puppet's directory `environments`, in which versions go live.
    pub environments: PathBuf,
    /// Reference of repositories for which the Puppetfile names none; `None`: it must name one.
    pub default_ref: Option<String>,
    /// True if modules come without their `spec` directories.
    pub exclude_spec: bool,
    /// Settings of `puppet generate types`, which runs in a version before it is live; `None`: it
    /// is not run.
    pub generate_types: Option<GenerateTypes>,
    /// The Forge of modules without another source.
    pub forge: ForgeSettings,
    /// Directory in whose `environments` other tools write environments that are to be published;
    /// `None`: none.
    pub staging: Option<PathBuf>,
    /// Programs that receive the results of deployments; changes apply after a restart of the
    /// server.
    pub hooks: Vec<HookAddress>,
    /// A program and its arguments, which runs after a deployment; empty: none. Changes apply after
    /// a restart of the server, too.
    pub postrun: Vec<String>,
    /// Number of environments that are deployed at once.
    pub at_once: usize,
    /// Proxy for archives, and for the Forge if it has no other; empty: none; `None`: as in the
    /// environment.
    pub proxy: Option<String>,
    /// Retention of unused versions.
    pub keep: RetentionSettings,
}

impl DeploymentSettings {
    /// The settings that determine what a Puppetfile resolves to.
    pub fn to_resolve_settings(&self) -> ResolveSettings {
        ResolveSettings {
            default_ref: self.default_ref.clone(),
            exclude_spec: self.exclude_spec,
            generate_types: self.generate_types.is_some(),
            forge: self.forge.clone(),
        }
    }

    /// Settings with r10k's defaults.
    pub fn new(directory: impl Into<PathBuf>, environments: impl Into<PathBuf>) -> Self {
        Self {
            sources: Vec::new(),
            directory: directory.into(),
            environments: environments.into(),
            default_ref: None,
            exclude_spec: true,
            generate_types: None,
            forge: ForgeSettings::default(),
            staging: None,
            hooks: Vec::new(),
            postrun: Vec::new(),
            at_once: DEPLOYS_AT_ONCE,
            proxy: None,
            keep: RetentionSettings::default(),
        }
    }
}
