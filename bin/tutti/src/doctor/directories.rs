//! Checks of the directories that a service writes, and of their disks. Main function: [`check`].

use std::path::PathBuf;

use doctor::{DiagnosisFinding, disk};

use super::installation::DiagnosedInstallation;
use super::role::ServiceRole;
use crate::config::Config;

/// Checks the file system of each directory.
pub(super) fn check(installation: &DiagnosedInstallation) -> Vec<DiagnosisFinding> {
    let looked: Vec<_> = written_directories(&installation.config)
        .into_iter()
        .map(|directory| {
            let facts = disk::examine(&directory);
            (directory, facts)
        })
        .collect();
    disk::judge(&looked)
}

/// Directories that the service writes, those of code only if it deploys code.
pub(super) fn written_directories(config: &Config) -> Vec<PathBuf> {
    if ServiceRole::from_config(config) == ServiceRole::Broker {
        return Vec::new();
    }
    let mut directories = vec![config.data_dir.clone()];
    if config.ca.enabled && config.ca.dir.is_some() {
        directories.push(config.ca_dir());
    }
    directories.extend(code_directories(config));
    let known_hosts = config.ssh.known_hosts.as_deref();
    directories.extend(
        known_hosts
            .and_then(|path| path.parent())
            .map(PathBuf::from),
    );
    let mut unique = Vec::new();
    for directory in directories {
        if !unique.contains(&directory) {
            unique.push(directory);
        }
    }
    unique
}

/// Directories that deployments write; none if other programs deploy code.
pub(super) fn code_directories(config: &Config) -> Vec<PathBuf> {
    let code = &config.code;
    if code.r10k_config.is_none() && code.staging_directory.is_none() && config.follow.is_none() {
        return Vec::new();
    }
    let mut directories = vec![code.codedir.join("environments"), code.directory.clone()];
    directories.extend(code.staging_directory.clone());
    directories
}
