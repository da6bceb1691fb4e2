//! Nodes without an agent: [`Ssh`] is what the configuration says, [`connections`] what is stored,
//! [`start`] the runner.

use std::path::PathBuf;

use ::ssh::{Connections, HostKeyCheck, HostKeys, SshConfig, SshRunner};
use anyhow::{Context as _, Result};
use environments::Blobs;
use fabric::Fabric;
use pki::seal::SealKey;
use serde::Deserialize;
use store::Store;

use crate::config::Config;

/// How nodes without an agent are reached.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Ssh {
    /// Trusted host keys, in the form of OpenSSH's file; `<data_dir>/known_hosts` when absent.
    pub known_hosts: Option<PathBuf>,
    /// `strict`: a host that is not in the file is refused. `accept-new`: its first key is believed.
    pub host_keys: Unknown,
    /// Runs at once.
    pub concurrency: usize,
}

/// What is done with hosts that nobody has recorded.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Unknown {
    #[default]
    Strict,
    AcceptNew,
}

impl Default for Ssh {
    fn default() -> Self {
        Self {
            known_hosts: None,
            host_keys: Unknown::Strict,
            concurrency: ::ssh::defaults::CONCURRENCY,
        }
    }
}

impl Ssh {
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.concurrency {
            1..=10_000 => Ok(()),
            _ => Err("ssh.concurrency must be from 1 to 10000".to_owned()),
        }
    }
}

/// What is stored.
pub(crate) async fn connections(config: &Config, store: Store) -> Result<Connections> {
    let seal = SealKey::open_or_create(&config.data_dir.join("seal.key"))?;
    Connections::open(store, seal)
        .await
        .context("cannot read how nodes without an agent are reached")
}

/// Stands in for such nodes; before the job engine starts, which may have runs that wait for them.
pub(crate) fn start(
    config: &Config,
    fabric: &Fabric,
    connections: &Connections,
    blobs: &Blobs,
) -> SshRunner {
    let known_hosts = config.ssh.known_hosts.clone();
    let known_hosts = known_hosts.unwrap_or_else(|| config.data_dir.join("known_hosts"));
    let check = match config.ssh.host_keys {
        Unknown::Strict => HostKeyCheck::Strict,
        Unknown::AcceptNew => HostKeyCheck::AcceptNew,
    };
    let settings = SshConfig {
        concurrency: config.ssh.concurrency,
        ..SshConfig::new(HostKeys::new(known_hosts, check))
    };
    SshRunner::start(settings, fabric, connections.clone(), blobs.clone())
}

/// The figures of runs over SSH.
pub(crate) struct Figures(pub(crate) SshRunner);

impl api::MetricsSource for Figures {
    fn text(&self) -> String {
        let (name, runs) = ("tutti_ssh_runs_total", self.0.runs());
        format!(
            "# HELP {name} Runs over SSH that were begun.\n# TYPE {name} counter\n{name} {runs}\n"
        )
    }
}
