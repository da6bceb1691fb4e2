//! Nodes without an agent: [`connections`] opens the stored connections, [`start`] starts the
//! runner.

use ::ssh::{HostKeyCheck, HostKeys, SshConfig, SshConnections, SshRunner};
use anyhow::{Context as _, Result};
use environments::BlobStore;
use fabric::Fabric;
use pki::seal::SealKey;
use store::Store;

use crate::config::Config;
use crate::config::ssh::HostKeyPolicy;

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
