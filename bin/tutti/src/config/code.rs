//! `[code]` of `tutti.toml`: [`Code`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use api_types::{PlanCode, RunCode};
use code_store::gc::RetentionSettings;
use serde::Deserialize;

/// Longest wait for followers, an hour: clients give up waiting for a deployment before that.
const FOLLOWERS_MAX_S: u64 = 60 * 60;

/// Where Puppet code is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Code {
    /// The directory that holds `environments/`.
    pub codedir: PathBuf,
    /// The `hiera.yaml` of the global layer.
    pub hiera_config: Option<PathBuf>,
    /// r10k's settings: this server deploys code then.
    pub r10k_config: Option<PathBuf>,
    /// Where it keeps copies of repositories, contents and versions.
    pub directory: PathBuf,
    /// The secret that forges sign their webhooks with.
    pub webhook_secret_file: Option<PathBuf>,
    /// Programs that are told how deployments ended.
    pub post_environment_hooks: Vec<crate::observers::Hook>,
    /// Forges that show it at the commits, by the names of the sources.
    pub commit_statuses: BTreeMap<String, crate::observers::CommitStatus>,
    /// Where other tools write environments, below `environments`, that are then published.
    pub staging_directory: Option<PathBuf>,
    /// Certnames of servers that may follow this one, or domains such as `*.compilers.example`.
    pub followers: Vec<String>,
    /// How long a deployment waits for them.
    pub followers_timeout_s: u64,
    /// How long a follower counts as there after it was heard.
    pub followers_lease_s: u64,
    /// Versions of each environment that stay beside the live one.
    pub keep_versions: KeepVersions,
    /// Days for which others stay after they were live.
    pub keep_days: u32,
    /// Which code plans read that do not say.
    pub plans: PlanCode,
    /// The same, for single environments.
    pub plans_of: BTreeMap<String, PlanCode>,
    /// Which code the nodes of on-demand Puppet runs get that do not say.
    pub puppet_runs: RunCode,
    /// The same, for single environments.
    pub puppet_runs_of: BTreeMap<String, RunCode>,
}

/// So many versions, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "keep_versions is a number, or \"all\"")]
pub(crate) enum KeepVersions {
    Number(usize),
    Word(All),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum All {
    All,
}

// === impl Code ===

impl Code {
    /// Which versions stay that nobody uses.
    pub(crate) fn keep(&self) -> RetentionSettings {
        RetentionSettings {
            versions: match self.keep_versions {
                KeepVersions::Number(number) => Some(number),
                KeepVersions::Word(All::All) => None,
            },
            age: Duration::from_secs(u64::from(self.keep_days) * 24 * 60 * 60),
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if !(1..=FOLLOWERS_MAX_S).contains(&self.followers_timeout_s) {
            return Err("code.followers_timeout_s must be from 1 to 3600".to_owned());
        }
        // A follower is heard every 20 s when all is well.
        if !(30..=FOLLOWERS_MAX_S).contains(&self.followers_lease_s) {
            return Err("code.followers_lease_s must be from 30 to 3600".to_owned());
        }
        Ok(())
    }

    /// Where the global layer of Hiera is configured, as Puppet finds it.
    pub(crate) fn hiera_config(&self) -> PathBuf {
        if let Some(configured) = &self.hiera_config {
            return configured.clone();
        }
        let beside = self.codedir.join("hiera.yaml");
        match self.codedir.to_str() {
            _ if beside.exists() => beside,
            Some("/etc/puppetlabs/code") => PathBuf::from("/etc/puppetlabs/puppet/hiera.yaml"),
            Some("/etc/puppet/code") => PathBuf::from("/etc/puppet/hiera.yaml"),
            _ => beside,
        }
    }
}

impl Default for Code {
    fn default() -> Self {
        Self {
            codedir: PathBuf::from("/etc/puppetlabs/code"),
            hiera_config: None,
            r10k_config: None,
            directory: PathBuf::from("/opt/puppetlabs/tutti/code"),
            webhook_secret_file: None,
            post_environment_hooks: Vec::new(),
            commit_statuses: BTreeMap::new(),
            staging_directory: None,
            followers: Vec::new(),
            followers_timeout_s: code_deployments::defaults::FOLLOWERS_TIMEOUT.as_secs(),
            followers_lease_s: file_sync::defaults::FOLLOWER_LEASE.as_secs(),
            keep_versions: KeepVersions::Number(code_store::defaults::KEEP_VERSIONS),
            keep_days: 7,
            plans: PlanCode::Pinned,
            plans_of: BTreeMap::new(),
            puppet_runs: RunCode::Latest,
            puppet_runs_of: BTreeMap::new(),
        }
    }
}
