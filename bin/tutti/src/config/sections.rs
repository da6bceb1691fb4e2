//! The small sections of `tutti.toml` and their defaults: CA, listeners, broker, store, jobs, audit.

use std::net::SocketAddr;
use std::path::PathBuf;

use jobs::FileServer;
use serde::Deserialize;

/// The longest time that the API takes for a job as well: 30 days.
pub(super) const NODE_TIMEOUT_MAX_S: u64 = 30 * 24 * 60 * 60;

/// The port where Puppet's agents look for a server unless their configuration says otherwise.
const PUPPET_PORT: u16 = 8140;

/// The certificate authority.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Ca {
    /// Whether this server is the CA. Off where a puppetserver is.
    pub enabled: bool,
    /// The CA's directory, in puppetserver's layout; `<data_dir>/ca` when absent.
    pub dir: Option<PathBuf>,
    /// Names that are signed without anybody's consent: globs such as `*.lab.example`.
    pub autosign: Vec<String>,
    /// Certnames that may sign and revoke over HTTP, beside holders of `pp_cli_auth`.
    pub administrators: Vec<String>,
}

/// The orchestrator's API.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Api {
    pub listen: SocketAddr,
}

/// The API that agents fetch files and certificates from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PuppetApi {
    /// Off where agents are to fetch the files of tasks from the servers of their own configuration.
    pub enabled: bool,
    pub listen: SocketAddr,
    /// `https://HOST[:PORT]`, where agents reach it; the certname and the port of `listen` when absent.
    pub url: Option<String>,
}

/// The PCP broker.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Broker {
    /// Whether `tutti server` holds a broker itself.
    pub enabled: bool,
    pub listen: SocketAddr,
    /// Rules in trapperkeeper's form; the shipped policy when absent.
    pub authorization: Option<PathBuf>,
    /// 0 = no limit.
    pub max_connections: usize,
    pub idle_timeout_s: u64,
    pub max_message_bytes: usize,
    /// For `tutti broker`: the orchestrators that it connects to.
    pub controller_uris: Vec<String>,
    /// For `tutti broker`: the certnames that orchestrators may have, if not the hosts of the
    /// addresses; `*` for any.
    pub controller_certnames: Vec<String>,
    /// For `tutti server`: certnames of brokers on other machines that may connect.
    pub remote_brokers: Vec<String>,
}

/// Where jobs, results and users are kept.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Store {
    /// `sqlite:PATH` or `postgresql://…`; `<data_dir>/tutti.db` when absent.
    pub url: Option<String>,
}

/// How jobs run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Jobs {
    /// Nodes that run tasks at once, over all jobs.
    pub task_concurrency: usize,
    /// Nodes that run Puppet at once, over all jobs: each has a catalog compiled first.
    pub global_concurrent_compiles: usize,
    /// `https://HOST`, where the reports of Puppet runs are shown.
    pub console_url: Option<String>,
    /// How long one node may take, unless the job says otherwise.
    pub node_timeout_s: u64,
    /// Finished jobs older than this are deleted.
    pub keep_days: u32,
    /// Plans that do not say otherwise take the defaults of their questions.
    pub unattended_plans: bool,
}

/// Who did what.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Audit {
    /// Entries older than this are deleted; absent: they are kept for ever.
    pub keep_days: Option<u32>,
}

// === impl PuppetApi ===

impl PuppetApi {
    pub(super) fn check(&self) -> Result<(), String> {
        let Some(url) = &self.url else {
            return Ok(());
        };
        match FileServer::new(url) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("puppet_api.url: {url:?}: {error}")),
        }
    }

    /// The address of task files that agents are told; `None`: it is not known, or nothing is served. By convention a
    /// stock agent knows the server at port 8140 by its configuration, and no other.
    pub(crate) fn file_server(&self, certname: &str) -> Option<FileServer> {
        let port = self.listen.port();
        // A port that the system chooses is known to nobody beforehand.
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
            false => Some(server.also_for_stock_agents()),
        }
    }
}

// === impl Jobs ===

impl Jobs {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.task_concurrency == 0 {
            return Err("jobs.task_concurrency must be at least 1".to_owned());
        }
        if self.global_concurrent_compiles == 0 {
            return Err("jobs.global_concurrent_compiles must be at least 1".to_owned());
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
}

// === defaults ===

impl Default for Ca {
    fn default() -> Self {
        Self {
            enabled: true,
            dir: None,
            autosign: Vec::new(),
            administrators: Vec::new(),
        }
    }
}

impl Default for Api {
    fn default() -> Self {
        Self {
            listen: any_address(8143),
        }
    }
}

impl Default for PuppetApi {
    fn default() -> Self {
        Self {
            enabled: true,
            listen: any_address(PUPPET_PORT),
            url: None,
        }
    }
}

impl Default for Broker {
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

impl Default for Jobs {
    fn default() -> Self {
        Self {
            task_concurrency: 250,
            global_concurrent_compiles: 8,
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
