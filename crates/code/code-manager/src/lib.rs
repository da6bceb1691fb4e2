//! Code Manager: environments from control repositories and Puppetfiles. Main type: [`Deployer`].
//!
//! The rule that must hold: every reader of an environment sees one whole version of it, always.

mod archive;
pub mod code_cache;
pub mod content;
pub mod defaults;
pub mod deployer;
pub mod diff;
mod error;
pub mod file_sync;
pub mod gate;
pub mod gc;
pub mod git;
mod hold;
pub mod incoming_webhooks;
pub mod integrity;
pub mod lock;
pub mod notes;
pub mod post_hook;
pub mod postrun;
mod program;
pub mod puppetserver;
mod r10k_deploy;
pub mod resolve;
mod sender;
pub mod service;
mod settings;
pub mod source;
pub mod statuses;
pub mod svn;
pub mod tree_notes;
mod trees;
mod types;
pub mod verify;
pub mod version;
pub mod versioned_code;
mod write_probe;

pub use archive::{ArchiveError, ForgeSettings, HttpError, UnpackError};
pub use deployer::{Built, Deployer};
pub use environments::EnvironmentName;
pub use error::{DeployError, OpenError, SourcesError};
pub use git::Git;
pub use hold::Holder;
pub use lock::Lock;
pub use resolve::Round;
pub use service::CodeManager;
pub use settings::{
    HookAddress, R10k, R10kError, R10kFile, R10kFileError, Settings, UnsupportedSetting,
};
pub use trees::TakeError;
pub use types::{GenerateTypes, TypesError};
pub use version::Signature;
pub use write_probe::{ProbeScope, WriteObstacle, WriteProbe};
