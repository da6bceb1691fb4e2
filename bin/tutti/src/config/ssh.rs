//! `[ssh]` of `tutti.toml`: [`SshSection`].

use std::path::PathBuf;

use serde::Deserialize;

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
    pub(super) fn check(&self) -> Result<(), String> {
        match self.concurrency {
            1..=10_000 => Ok(()),
            _ => Err("ssh.concurrency must be from 1 to 10000".to_owned()),
        }
    }
}
