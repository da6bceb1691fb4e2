//! The small sections of `tutti.toml` and their defaults: CA, listeners, broker, store, jobs,
//! audit.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use convergence::defaults::{RERUN_LIMIT_MAX, RERUN_LIMITS};
use convergence::{RerunLimits, RerunRate};
use file_bucket::FileBucketConfig;
use jobs::FileServer;
use puppet_api::{AuthorizationRules, FileMounts};
use serde::Deserialize;

/// The longest time limit that the API accepts for a job too: 30 days.
pub(super) const NODE_TIMEOUT_MAX_S: u64 = 30 * 24 * 60 * 60;

/// Smallest bucket in MiB.
const BUCKET_MIB_MIN: u64 = 100;

/// Five years, as for new certificates.
const RENEWAL_DAYS: u32 = 5 * 365;
const RENEWAL_DAYS_MAX: u32 = 15 * 365;

const DAY_SECONDS: u64 = 24 * 60 * 60;

/// The port on which Puppet's agents contact a server unless their configuration names another.
const PUPPET_PORT: u16 = 8140;

/// The certificate authority.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CaSection {
    /// True if this server is the CA. To be disabled if a puppetserver is the CA.
    pub enabled: bool,
    /// The CA's directory, in puppetserver's layout; `<data_dir>/ca` when absent.
    pub dir: Option<PathBuf>,
    /// Names that are signed automatically: globs such as `*.lab.example`.
    pub autosign: Vec<String>,
    /// Certnames that may sign and revoke over HTTP, in addition to holders of `pp_cli_auth`.
    pub administrators: Vec<String>,
    /// Days for which certificates are valid that agents renew; 0: none are renewed.
    pub renewal_days: u32,
}

/// The orchestrator's API.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ApiSection {
    pub listen: SocketAddr,
}

/// The API from which agents fetch files and certificates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PuppetApiSection {
    /// To be disabled if agents fetch task files from the servers of their own configuration.
    pub enabled: bool,
    pub listen: SocketAddr,
    /// `https://HOST[:PORT]` at which agents reach it; the certname and the port of `listen` if
    /// absent.
    pub url: Option<String>,
    /// Rules for requests, in the form of puppetserver's `auth.conf`; Puppet's default rules if absent.
    pub auth_conf: Option<PathBuf>,
    /// Further mounts of files, in the form of puppetserver's `fileserver.conf`; none if absent.
    pub fileserver_conf: Option<PathBuf>,
}

/// Copies of files that agents replace (Puppet's filebucket).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BucketSection {
    /// Number of days after which files are removed that were not stored again.
    pub keep_days: u32,
    /// Size of all files in MiB.
    pub max_mib: u64,
}

/// The PCP broker.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BrokerSection {
    /// True if `tutti server` runs a broker itself.
    pub enabled: bool,
    pub listen: SocketAddr,
    /// Rules in trapperkeeper's format; the shipped policy if absent.
    pub authorization: Option<PathBuf>,
    /// Maximum number of connections; 0 = no limit.
    pub max_connections: usize,
    pub idle_timeout_s: u64,
    pub max_message_bytes: usize,
    /// For `tutti broker`: the orchestrators that it connects to.
    pub controller_uris: Vec<String>,
    /// For `tutti broker`: the certnames that orchestrators may have, if they differ from the hosts
    /// of the addresses; `*` for any.
    pub controller_certnames: Vec<String>,
    /// For `tutti server`: certnames of brokers on other machines that may connect.
    pub remote_brokers: Vec<String>,
}

/// The database of jobs, results and users.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StoreSection {
    /// `sqlite:PATH` or `postgresql://…`; `<data_dir>/tutti.db` if absent.
    pub url: Option<String>,
}

/// Limits and defaults of jobs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct JobsSection {
    /// Maximum number of nodes that run tasks at once, over all jobs.
    pub task_concurrency: usize,
    /// Maximum number of nodes that run Puppet at once, over all jobs: a catalog is compiled for
    /// each.
    pub global_concurrent_compiles: usize,
    /// Reruns of waves that a node may have at once, over all jobs.
    pub node_reruns_burst: u32,
    /// Reruns that each hour gives back to a node.
    pub node_reruns_per_hour: u32,
    /// Reruns of waves that all nodes together may have at once.
    pub fleet_reruns_burst: u32,
    /// Reruns that each hour gives back to all nodes together.
    pub fleet_reruns_per_hour: u32,
    /// `https://HOST` of the console that shows the reports of Puppet runs.
    pub console_url: Option<String>,
    /// Time limit of one node in seconds, unless the job sets another.
    pub node_timeout_s: u64,
    /// Number of days after which finished jobs are deleted.
    pub keep_days: u32,
    /// Default of plans: if true, they use the defaults of their prompts.
    pub unattended_plans: bool,
}

/// The audit log.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AuditSection {
    /// Number of days after which entries are deleted; absent: they are kept forever.
    pub keep_days: Option<u32>,
}

// === impl CaSection ===

impl CaSection {
    pub(super) fn check(&self) -> Result<(), String> {
        match self.renewal_days > RENEWAL_DAYS_MAX {
            true => Err(format!(
                "ca.renewal_days must be at most {RENEWAL_DAYS_MAX} (15 years, as for the CA itself)"
            )),
            false => Ok(()),
        }
    }

    /// Lifetime of certificates that agents renew; `None` if none are renewed.
    pub(crate) fn renewal_lifetime(&self) -> Option<Duration> {
        let seconds = u64::from(self.renewal_days) * DAY_SECONDS;
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }
}

// === impl PuppetApiSection ===

impl PuppetApiSection {
    pub(super) fn check(&self) -> Result<(), String> {
        let Some(url) = &self.url else {
            return Ok(());
        };
        match FileServer::new(url) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("puppet_api.url: {url:?}: {error}")),
        }
    }

    /// Reads the rules for requests; `None` for Puppet's default rules.
    pub(crate) fn rules(&self) -> Result<Option<AuthorizationRules>> {
        let Some(path) = &self.auth_conf else {
            return Ok(None);
        };
        let rules = AuthorizationRules::read(path);
        let rules = rules.with_context(|| format!("puppet_api.auth_conf: {}", path.display()));
        Ok(Some(rules?))
    }

    /// Reads the further mounts of files.
    pub(crate) fn mounts(&self) -> Result<FileMounts> {
        let Some(path) = &self.fileserver_conf else {
            return Ok(FileMounts::default());
        };
        let mounts = FileMounts::read(path);
        mounts.with_context(|| format!("puppet_api.fileserver_conf: {}", path.display()))
    }

    /// The address of task files that agents receive; `None`: it is not known, or no files are
    /// served. A stock agent uses only the server at port 8140 that its own configuration names.
    pub(crate) fn file_server(&self, certname: &str) -> Option<FileServer> {
        let port = self.listen.port();
        // A port chosen by the system is not known beforehand.
        if !self.enabled || (port == 0 && self.url.is_none()) {
            return None;
        }
        let server = match &self.url {
            Some(url) => FileServer::new(url),
            None => FileServer::new(&format!("https://{certname}:{port}")),
        };
        let server = server.ok()?;
        match port == PUPPET_PORT && self.url.is_none() {
            true => Some(server),
            false => Some(server.with_stock_agents()),
        }
    }
}

// === impl BucketSection ===

impl BucketSection {
    pub(super) fn check(&self) -> Result<(), String> {
        match (self.keep_days, self.max_mib) {
            (0, _) => Err("bucket.keep_days must be at least 1".to_owned()),
            (_, mib) if mib < BUCKET_MIB_MIN => Err(format!(
                "bucket.max_mib must be at least {BUCKET_MIB_MIN}: a single file may have a tenth of it"
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn settings(&self, data_dir: &Path) -> FileBucketConfig {
        FileBucketConfig {
            keep: Duration::from_secs(u64::from(self.keep_days) * DAY_SECONDS),
            total_bytes: self.max_mib.saturating_mul(1 << 20),
            ..FileBucketConfig::new(data_dir.join("bucket"))
        }
    }
}

// === impl JobsSection ===

impl JobsSection {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.task_concurrency == 0 {
            return Err("jobs.task_concurrency must be at least 1".to_owned());
        }
        if self.global_concurrent_compiles == 0 {
            return Err("jobs.global_concurrent_compiles must be at least 1".to_owned());
        }
        for (key, limit) in [
            ("node_reruns_burst", self.node_reruns_burst),
            ("node_reruns_per_hour", self.node_reruns_per_hour),
            ("fleet_reruns_burst", self.fleet_reruns_burst),
            ("fleet_reruns_per_hour", self.fleet_reruns_per_hour),
        ] {
            if !(1..=RERUN_LIMIT_MAX).contains(&limit) {
                return Err(format!("jobs.{key} must be from 1 to {RERUN_LIMIT_MAX}"));
            }
        }
        if let Some(url) = &self.console_url
            && !(url.starts_with("https://") || url.starts_with("http://"))
        {
            return Err("jobs.console_url must begin with https:// or http://".to_owned());
        }
        if !(1..=NODE_TIMEOUT_MAX_S).contains(&self.node_timeout_s) {
            return Err(format!(
                "jobs.node_timeout_s must be from 1 to {NODE_TIMEOUT_MAX_S} (30 days)"
            ));
        }
        if self.keep_days < 2 {
            return Err("jobs.keep_days must be at least 2".to_owned());
        }
        Ok(())
    }

    /// Limits of the reruns of waves, over all jobs.
    pub(crate) fn rerun_limits(&self) -> RerunLimits {
        RerunLimits {
            node: RerunRate {
                burst: self.node_reruns_burst,
                per_hour: self.node_reruns_per_hour,
            },
            fleet: RerunRate {
                burst: self.fleet_reruns_burst,
                per_hour: self.fleet_reruns_per_hour,
            },
        }
    }
}

// === defaults ===

impl Default for CaSection {
    fn default() -> Self {
        Self {
            enabled: true,
            dir: None,
            autosign: Vec::new(),
            administrators: Vec::new(),
            renewal_days: RENEWAL_DAYS,
        }
    }
}

impl Default for ApiSection {
    fn default() -> Self {
        Self {
            listen: any_address(8143),
        }
    }
}

impl Default for PuppetApiSection {
    fn default() -> Self {
        Self {
            enabled: true,
            listen: any_address(PUPPET_PORT),
            url: None,
            auth_conf: None,
            fileserver_conf: None,
        }
    }
}

impl Default for BucketSection {
    fn default() -> Self {
        let days = file_bucket::defaults::KEEP.as_secs() / DAY_SECONDS;
        Self {
            keep_days: u32::try_from(days).unwrap_or(u32::MAX),
            max_mib: file_bucket::defaults::TOTAL_BYTES >> 20,
        }
    }
}

impl Default for BrokerSection {
    fn default() -> Self {
        Self {
            enabled: true,
            listen: any_address(8142),
            authorization: None,
            max_connections: 0,
            idle_timeout_s: 360,
            max_message_bytes: 64 << 20,
            controller_uris: Vec::new(),
            controller_certnames: Vec::new(),
            remote_brokers: Vec::new(),
        }
    }
}

impl Default for JobsSection {
    fn default() -> Self {
        let RerunLimits { node, fleet } = RERUN_LIMITS;
        Self {
            task_concurrency: 250,
            global_concurrent_compiles: 8,
            node_reruns_burst: node.burst,
            node_reruns_per_hour: node.per_hour,
            fleet_reruns_burst: fleet.burst,
            fleet_reruns_per_hour: fleet.per_hour,
            console_url: None,
            node_timeout_s: 24 * 60 * 60,
            keep_days: 30,
            unattended_plans: false,
        }
    }
}

fn any_address(port: u16) -> SocketAddr {
    SocketAddr::from(([0, 0, 0, 0], port))
}
