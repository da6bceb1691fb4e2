//! An environment in a directory of this machine.

mod compiler_environment;
mod config_version;
mod files;
mod on_disk;
mod outside_files;
mod site_manifests;
mod text_file;

pub use compiler_environment::CompilerOptions;
pub use config_version::{ConfigVersion, ConfigVersionError};
pub use files::EnvironmentFiles;
pub use on_disk::{EnvironmentOnDisk, module_directories};
pub use outside_files::{OutsideFileState, OutsideFileStates, OutsideFiles, changed_files};
pub use text_file::EnvironmentReadError;
