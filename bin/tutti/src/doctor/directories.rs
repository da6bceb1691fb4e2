//! Checks of the directories that a service writes, and of their disks. Main function: [`check`].

use std::path::PathBuf;

use doctor::{Finding, disk};

use super::Installation;
use super::role::Role;
use crate::config::Config;

/// Checks the file system of each directory.
pub(super) fn check(installation: &Installation) -> Vec<Finding> {
    let looked: Vec<_> = written(&installation.config)
        .into_iter()
        .map(|directory| {
            let facts = disk::look(&directory);
            (directory, facts)
        })
        .collect();
    disk::judge(&looked)
}

/// Directories that the service writes, those of code only if it deploys code.
pub(super) fn written(config: &Config) -> Vec<PathBuf> {
    if Role::of(config) == Role::Broker {
        return Vec::new();
    }
    let mut directories = vec![config.data_dir.clone()];
    if config.ca.enabled && config.ca.dir.is_some() {
        directories.push(config.ca_dir());
    }
    directories.extend(of_code(config));
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
pub(super) fn of_code(config: &Config) -> Vec<PathBuf> {
    let code = &config.code;
    if code.r10k_config.is_none() && code.staging_directory.is_none() && config.follow.is_none() {
        return Vec::new();
    }
    let mut directories = vec![code.codedir.join("environments"), code.directory.clone()];
    directories.extend(code.staging_directory.clone());
    directories
}
