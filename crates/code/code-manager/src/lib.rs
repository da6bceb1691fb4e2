//! Code Manager: environments from control repositories and Puppetfiles. Main type: [`Deployer`].
//!
//! The rule that must hold: every reader of an environment sees one whole version of it, always.

mod archive;
pub mod defaults;
pub mod deployer;
mod error;
pub mod file_sync;
pub mod gate;
pub mod git;
pub mod incoming_webhooks;
pub mod post_hook;
pub mod postrun;
mod program;
pub mod puppetserver;
pub mod resolve;
mod sender;
pub mod service;
mod settings;
pub mod source;
pub mod statuses;
pub mod svn;
mod trees;
mod types;
pub mod verify;

pub use archive::{ArchiveError, ForgeSettings, HttpError, UnpackError};
pub use deployer::{Built, Deployer};
pub use error::{DeployError, OpenError, SourcesError};
pub use git::Git;
pub use resolve::Round;
pub use service::CodeManager;
pub use settings::{
    HookAddress, R10k, R10kError, R10kFile, R10kFileError, Settings, UnsupportedSetting,
};
pub use trees::TakeError;
pub use types::{GenerateTypes, TypesError};
