//! Code Manager: environments from control repositories and Puppetfiles. Main type: [`Deployer`].
//!
//! The rule that must hold: every reader of an environment sees one whole version of it, always.

pub mod defaults;
pub mod deployer;
mod error;
pub mod gate;
pub mod post_hook;
pub mod postrun;
pub mod puppetserver;
pub mod sender;
pub mod service;
mod staging;
mod types;

pub use deployer::{Built, Deployer};
pub use error::{DeployError, OpenError, SourcesError};
pub use service::CodeManager;
pub use types::TypesError;
