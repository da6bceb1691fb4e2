//! Deployments of code: control repositories and Puppetfiles become versions of environments, which
//! become live.
//!
//! Main types: [`Deployer`], which builds a version and switches to it; [`CodeManager`], the
//! service of Code Manager's API with its queue, history and pins.
//!
//! A deployment takes its settings from `code-settings`, is resolved and fetched by `code-sources`,
//! built and switched in `code-store`, followed by other servers through `file-sync`, and reported
//! by `forges` as an observer.
//!
//! Invariant: a deployment that fails leaves the live version as it was.

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

pub use deployer::{BuiltVersion, Deployer};
pub use error::{DeployerOpenError, DeploymentError, SourcesError};
pub use service::CodeManager;
pub use types::TypesError;
