//! Disks of all directories that a server writes. Main function: [`check`].

use std::path::PathBuf;

use doctor::{Finding, disk};

use super::Installation;
use crate::config::Config;

/// Looks at the file system of each directory.
pub(super) fn check(installation: &Installation) -> Vec<Finding> {
    let directories = written_directories(&installation.config).into_iter();
    let looked: Vec<_> = directories
        .map(|directory| {
            let facts = disk::look(&directory);
            (directory, facts)
        })
        .collect();
    disk::judge(&looked)
}

/// Directories that the server writes, those of code only where it deploys code.
pub(super) fn written_directories(config: &Config) -> Vec<PathBuf> {
    let mut directories = vec![config.data_dir.clone()];
    if config.ca.enabled {
        directories.push(config.ca_dir());
    }
    directories.extend(code_directories(config));
    if let Some(path) = &config.ssh.known_hosts {
        directories.extend(path.parent().map(PathBuf::from));
    }
    directories.dedup();
    directories
}

/// Directories that deployments write.
pub(super) fn code_directories(config: &Config) -> Vec<PathBuf> {
    let code = &config.code;
    if code.r10k_config.is_none() && code.staging_directory.is_none() && config.follow.is_none() {
        return Vec::new();
    }
    let mut directories = vec![code.codedir.join("environments"), code.directory.clone()];
    directories.extend(code.staging_directory.clone());
    directories
}
