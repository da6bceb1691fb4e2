//! An environment in a directory of this machine: its location, files, facts of a node.
//!
//! Commands that need neither a server nor Puppet use it: `tutti lookup`, `tutti catalog`.

pub(crate) mod facts;
mod files;
mod location;
mod site_manifests;

pub use files::EnvironmentFiles;
pub use location::{EnvironmentLocation, EnvironmentOnDisk};
