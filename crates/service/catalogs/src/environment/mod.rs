//! An environment in a directory of this machine.

mod compiler_environment;
mod config_version;
mod files;
mod listed_settings;
mod listing;
mod manifest_applications;
mod manifest_classes;
mod on_disk;
mod outside_files;
mod site_manifests;
mod text_file;
mod transports;

pub use compiler_environment::CompilerOptions;
pub use config_version::{ConfigVersion, ConfigVersionError};
pub use files::EnvironmentFiles;
pub use listed_settings::{EnvironmentTimeout, ListedSettings, ListedSettingsError};
pub use listing::{EnvironmentListing, EnvironmentListingError};
pub use manifest_applications::ApplicationDefinition;
pub use on_disk::{EnvironmentOnDisk, enables_applications, module_directories};
pub use outside_files::{OutsideFileState, OutsideFileStates, OutsideFiles, changed_files};
pub use text_file::EnvironmentReadError;
pub(crate) use transports::TransportRuby;
