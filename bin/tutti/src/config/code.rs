//! `[code]` of `tutti.toml`: [`CodeSection`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use api_types::{PlanCode, RunCode};
use code_store::gc::RetentionSettings;
use serde::Deserialize;

/// Longest wait for followers, an hour: clients stop waiting for a deployment before that.
const FOLLOWERS_MAX_S: u64 = 60 * 60;

/// Directories and deployment of Puppet code.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CodeSection {
    /// The directory that holds `environments/`.
    pub codedir: PathBuf,
    /// The `hiera.yaml` of the global layer.
    pub hiera_config: Option<PathBuf>,
    /// Path of r10k's settings; if set, this server deploys code.
    pub r10k_config: Option<PathBuf>,
    /// Directory of the copies of repositories, contents and versions.
    pub directory: PathBuf,
    /// File with the secret that forges use to sign their webhooks.
    pub webhook_secret_file: Option<PathBuf>,
    /// Programs that are notified of the result of deployments.
    pub post_environment_hooks: Vec<PostEnvironmentHook>,
    /// Forges that show the result at the commits, by the names of the sources.
    pub commit_statuses: BTreeMap<String, CommitStatus>,
    /// Directory below whose `environments` other tools write the environments to publish.
    pub staging_directory: Option<PathBuf>,
    /// Certnames of servers that may follow this one, or domains such as `*.compilers.example`.
    pub followers: Vec<String>,
    /// Maximum wait of a deployment for the followers, in seconds.
    pub followers_timeout_s: u64,
    /// Time in seconds for which a follower counts as present after its last message.
    pub followers_lease_s: u64,
    /// Number of versions of each environment that are kept besides the live one.
    pub keep_versions: VersionRetention,
    /// Number of days for which others are kept after they were live.
    pub keep_days: u32,
    /// Default of the code that plans read.
    pub plans: PlanCode,
    /// The same for single environments.
    pub plans_of: BTreeMap<String, PlanCode>,
    /// Default of the code that nodes get in on-demand Puppet runs.
    pub puppet_runs: RunCode,
    /// The same for single environments.
    pub puppet_runs_of: BTreeMap<String, RunCode>,
}

/// A program that is notified of the result of deployments.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PostEnvironmentHook {
    pub url: String,
    /// True if this server's certificate is presented to the program, which must have one of the
    /// same authority.
    #[serde(default)]
    pub use_client_ssl: bool,
}

/// The forge of a source, which shows the statuses of commits.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommitStatus {
    /// Kind of the forge: `github`, `gitlab`, …
    #[serde(rename = "type")]
    pub kind: String,
    pub token_file: PathBuf,
    /// Address of the forge's API, if it cannot be derived from the source's address.
    #[serde(default)]
    pub api: Option<String>,
    /// `owner/name`, if it cannot be derived from the source's address.
    #[serde(default)]
    pub repository: Option<String>,
    /// Target of the link in a status.
    #[serde(default)]
    pub link: Option<String>,
}

/// A number of versions, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "keep_versions is a number, or \"all\"")]
pub(crate) enum VersionRetention {
    Number(usize),
    Word(AllVersions),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AllVersions {
    All,
}

// === impl CodeSection ===

impl CodeSection {
    /// Retention of unused versions.
    pub(crate) fn retention(&self) -> RetentionSettings {
        RetentionSettings {
            versions: match self.keep_versions {
                VersionRetention::Number(number) => Some(number),
                VersionRetention::Word(AllVersions::All) => None,
            },
            age: Duration::from_secs(u64::from(self.keep_days) * 24 * 60 * 60),
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if !(1..=FOLLOWERS_MAX_S).contains(&self.followers_timeout_s) {
            return Err("code.followers_timeout_s must be from 1 to 3600".to_owned());
        }
        // A follower sends a message every 20 s in normal operation.
        if !(30..=FOLLOWERS_MAX_S).contains(&self.followers_lease_s) {
            return Err("code.followers_lease_s must be from 30 to 3600".to_owned());
        }
        Ok(())
    }

    /// Path of the configuration of Hiera's global layer, found as in Puppet.
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

impl Default for CodeSection {
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
            keep_versions: VersionRetention::Number(code_store::defaults::KEEP_VERSIONS),
            keep_days: 7,
            plans: PlanCode::Pinned,
            plans_of: BTreeMap::new(),
            puppet_runs: RunCode::Latest,
            puppet_runs_of: BTreeMap::new(),
        }
    }
}
