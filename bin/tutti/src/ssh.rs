//! Nodes without an agent: [`SshSection`] is the section of the configuration, [`connections`]
//! opens the stored connections, [`start`] starts the runner.

use std::path::PathBuf;

use ::ssh::{HostKeyCheck, HostKeys, SshConfig, SshConnections, SshRunner};
use anyhow::{Context as _, Result};
use environments::BlobStore;
use fabric::Fabric;
use pki::seal::SealKey;
use serde::Deserialize;
use store::Store;

use crate::config::Config;

/// Settings of SSH connections to nodes without an agent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SshSection {
    /// Trusted host keys, in the format of OpenSSH's file; `<data_dir>/known_hosts` if absent.
    pub known_hosts: Option<PathBuf>,
    /// `strict`: a host that is not in the file is refused. `accept-new`: its first key is trusted.
    pub host_keys: HostKeyPolicy,
    /// Maximum number of concurrent runs.
    pub concurrency: usize,
}

/// Treatment of hosts whose keys are not recorded.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HostKeyPolicy {
    #[default]
    Strict,
    AcceptNew,
}

impl Default for SshSection {
    fn default() -> Self {
        Self {
            known_hosts: None,
            host_keys: HostKeyPolicy::Strict,
            concurrency: ::ssh::defaults::CONCURRENCY,
        }
    }
}

impl SshSection {
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.concurrency {
            1..=10_000 => Ok(()),
            _ => Err("ssh.concurrency must be from 1 to 10000".to_owned()),
        }
    }
}

/// Opens the stored connections.
pub(crate) async fn connections(config: &Config, store: Store) -> Result<SshConnections> {
    let seal = SealKey::open_or_create(&config.data_dir.join("seal.key"))?;
    SshConnections::open(store, seal)
        .await
        .context("cannot read how nodes without an agent are reached")
}

/// Starts the runner in place of agents on such nodes; before the job engine starts, which may have
/// runs that wait for them.
pub(crate) fn start(
    config: &Config,
    fabric: &Fabric,
    connections: &SshConnections,
    blobs: &BlobStore,
) -> SshRunner {
    let known_hosts = config.ssh.known_hosts.clone();
    let known_hosts = known_hosts.unwrap_or_else(|| config.data_dir.join("known_hosts"));
    let check = match config.ssh.host_keys {
        HostKeyPolicy::Strict => HostKeyCheck::Strict,
        HostKeyPolicy::AcceptNew => HostKeyCheck::AcceptNew,
    };
    let settings = SshConfig {
        concurrency: config.ssh.concurrency,
        ..SshConfig::new(HostKeys::new(known_hosts, check))
    };
    SshRunner::start(settings, fabric, connections.clone(), blobs.clone())
}
