//! Settings of code deployment: [`Settings`], read from an `r10k.yaml`, g10k's configuration or Code Manager's Hiera data.
//!
//! Main types: [`R10k`], one such file as it was read; [`R10kFile`], a file that may change while the server runs.
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
pub use r10k::{R10k, R10kError, UnsupportedSetting};

use crate::defaults::DEPLOYS_AT_ONCE;
use code_sources::archive::ForgeSettings;
use code_sources::resolve::ResolveSettings;
use code_sources::source::Source;
use code_store::gc::RetentionSettings;

/// All settings of deployments.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The control repositories, and lists of environments.
    pub sources: Vec<Arc<Source>>,
    /// Where copies of repositories, content and versions are.
    pub directory: PathBuf,
    /// Puppet's `environments`.
    pub environments: PathBuf,
    /// What is taken of a repository of which the Puppetfile names nothing.
    pub default_ref: Option<String>,
    /// Whether modules come without their `spec` directories.
    pub exclude_spec: bool,
    /// Whether `puppet generate types` runs in a version before it is live, and how.
    pub generate_types: Option<GenerateTypes>,
    /// Where modules come from that name no source.
    pub forge: ForgeSettings,
    /// Where other tools write environments that are to be published; they are in `environments` below.
    pub staging: Option<PathBuf>,
    /// Programs that are told how deployments ended; they count from the start of the server.
    pub hooks: Vec<HookAddress>,
    /// A program and its arguments, which runs when a deployment is over; empty: none. It counts from the start of a
    /// server, too.
    pub postrun: Vec<String>,
    /// Environments that are worked on at once.
    pub at_once: usize,
    /// For archives, and the Forge if it has no other; empty: none; `None`: as the environment says.
    pub proxy: Option<String>,
    /// Which versions stay that nobody uses.
    pub keep: RetentionSettings,
}

impl Settings {
    /// The part that decides what a Puppetfile resolves to.
    pub fn resolving(&self) -> ResolveSettings {
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
