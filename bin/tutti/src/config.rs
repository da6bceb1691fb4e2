//! `tutti.toml`: what a server or a broker is told. Main type: [`Config`].
//!
//! The rule: a key that nobody reads is an error that names its place, and every value has a
//! default except those that only the site can know.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use api_types::{PlanCode, RunCode};
use code_manager::gc::Keep;
use serde::Deserialize;

/// The whole file. All paths may be relative to the file's own directory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// The server's own name: the CN of its certificate and the host that agents connect to.
    pub certname: String,
    /// Where state is kept: database, CA, keys, blobs.
    #[serde(default = "default_data_dir")]
    pub data_dir: PathBuf,
    /// Certificates other than those that `tutti server` makes with its own CA.
    #[serde(default)]
    pub tls: Option<Tls>,
    #[serde(default)]
    pub ca: Ca,
    #[serde(default)]
    pub api: Api,
    #[serde(default)]
    pub puppet_api: PuppetApi,
    #[serde(default)]
    pub broker: Broker,
    #[serde(default)]
    pub store: Store,
    #[serde(default)]
    pub code: Code,
    #[serde(default)]
    pub audit: Audit,
    #[serde(default)]
    pub jobs: Jobs,
    #[serde(default)]
    pub telemetry: crate::telemetry_export::Telemetry,
    #[serde(default)]
    pub access: crate::access::Access,
    #[serde(default)]
    pub directories: crate::directories::Directories,
    /// A real PuppetDB.
    #[serde(default)]
    pub puppetdb: Option<crate::inventory::PuppetDb>,
    /// A puppetserver that knows the classes.
    #[serde(default)]
    pub puppetserver: Option<crate::classifier::Puppetserver>,
    /// The embedded inventory, where there is no PuppetDB.
    #[serde(default)]
    pub inventory: crate::inventory::Embedded,
    #[serde(default)]
    pub ssh: crate::ssh::Ssh,
    /// For `tutti follow`: which server.
    #[serde(default)]
    pub follow: Option<crate::follow::Follow>,
}

/// Certificate files, as Puppet lays them out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tls {
    pub cert: PathBuf,
    pub key: PathBuf,
    pub ca: PathBuf,
    /// `<ca_dir>/ca_crl.pem` when absent on a server that is the CA.
    pub crl: Option<PathBuf>,
    /// Accept revoked certificates. Said aloud, because nobody notices a list that is missing.
    #[serde(default)]
    pub no_crl: bool,
}

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
    /// Off where a puppetserver listens on 8140 and serves the same code.
    pub enabled: bool,
    pub listen: SocketAddr,
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
}

/// Who did what.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Audit {
    /// Entries older than this are deleted; absent: they are kept for ever.
    pub keep_days: Option<u32>,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error(
        "cannot read the configuration {path}: {source}; write one (see docs/server.md) or give --config"
    )]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the configuration {path} is not valid: {source}")]
    Parse {
        path: PathBuf,
        source: Box<toml::de::Error>,
    },
    #[error("the configuration {path} is not valid: {what}")]
    Value { path: PathBuf, what: String },
}

/// Nothing says which certificates are revoked.
#[derive(Debug, thiserror::Error)]
#[error(
    "tls.crl is missing, so revoked certificates would be accepted; name the CA's revocation list \
     there, or set tls.no_crl = true if that is meant"
)]
pub(crate) struct NoRevocation;

/// The longest time that the API takes for a job as well: 30 days.
const NODE_TIMEOUT_MAX_S: u64 = 30 * 24 * 60 * 60;

/// An hour: whoever waits for a deployment does so for less.
const FOLLOWERS_MAX_S: u64 = 60 * 60;

fn default_data_dir() -> PathBuf {
    PathBuf::from("/var/lib/tutti")
}

fn any_address(port: u16) -> SocketAddr {
    SocketAddr::from(([0, 0, 0, 0], port))
}

// === impl Config ===

impl Config {
    /// Reads and checks the file.
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read {
            path: path.to_owned(),
            source,
        })?;
        let mut config: Self = toml::from_str(&text).map_err(|source| ConfigError::Parse {
            path: path.to_owned(),
            source: Box::new(source),
        })?;
        config.check().map_err(|what| ConfigError::Value {
            path: path.to_owned(),
            what,
        })?;
        config.resolve(path.parent().unwrap_or(Path::new(".")));
        Ok(config)
    }

    /// The files that the server's TLS uses.
    pub(crate) fn tls_files(&self) -> pki::TlsFiles {
        if let Some(tls) = &self.tls {
            return pki::TlsFiles {
                cert: tls.cert.clone(),
                key: tls.key.clone(),
                ca: tls.ca.clone(),
                crl: self.crl_of(tls),
            };
        }
        let ssl = self.data_dir.join("ssl");
        pki::TlsFiles {
            cert: ssl.join("certs").join(format!("{}.pem", self.certname)),
            key: ssl
                .join("private_keys")
                .join(format!("{}.pem", self.certname)),
            ca: ssl.join("certs/ca.pem"),
            crl: Some(if self.ca.enabled {
                self.ca_dir().join("ca_crl.pem")
            } else {
                ssl.join("crl.pem")
            }),
        }
    }

    fn crl_of(&self, tls: &Tls) -> Option<PathBuf> {
        let own = || self.ca.enabled.then(|| self.ca_dir().join("ca_crl.pem"));
        match tls.no_crl {
            true => None,
            false => tls.crl.clone().or_else(own),
        }
    }

    /// For a program that is no CA, whatever `ca.enabled` says: `[tls]` names a list, or says that
    /// there is none.
    pub(crate) fn require_revocation(&self) -> Result<(), NoRevocation> {
        match &self.tls {
            Some(tls) if tls.crl.is_none() && !tls.no_crl => Err(NoRevocation),
            _ => Ok(()),
        }
    }

    /// What this server shows another one, and trusts: its own files but for those that are named.
    pub(crate) fn client_files(
        &self,
        cacert: Option<&Path>,
        cert: Option<&Path>,
        key: Option<&Path>,
    ) -> pki::TlsFiles {
        let mut files = self.tls_files();
        files.cert = cert.unwrap_or(&files.cert).to_owned();
        files.key = key.unwrap_or(&files.key).to_owned();
        if let Some(ca) = cacert {
            ca.clone_into(&mut files.ca);
            // The list of another CA says nothing about this one's certificates.
            files.crl = None;
        }
        files
    }

    /// Once, at start.
    pub(crate) fn warn_without_revocation(&self) {
        if self.tls_files().crl.is_none() {
            tracing::warn!(
                "tls.no_crl is set: revoked certificates are accepted; name a list in tls.crl"
            );
        }
    }

    pub(crate) fn ca_dir(&self) -> PathBuf {
        self.ca
            .dir
            .clone()
            .unwrap_or_else(|| self.data_dir.join("ca"))
    }

    pub(crate) fn store_url(&self) -> String {
        self.store
            .url
            .clone()
            .unwrap_or_else(|| format!("sqlite:{}", self.data_dir.join("tutti.db").display()))
    }

    /// How the server's own database is opened.
    pub(crate) fn store_config(&self) -> store::StoreConfig {
        store::StoreConfig {
            history: Some(self.data_dir.join("history")),
            ..store::StoreConfig::new(self.store_url())
        }
    }

    fn check(&self) -> Result<(), String> {
        if let Err(error) = self.certname.parse::<pcp::Certname>() {
            return Err(format!("certname: {error}"));
        }
        if let Some(tls) = &self.tls {
            if tls.no_crl && tls.crl.is_some() {
                return Err("tls.crl and tls.no_crl contradict each other".to_owned());
            }
            if !self.ca.enabled {
                self.require_revocation()
                    .map_err(|error| error.to_string())?;
            }
        }
        if let Some(puppetdb) = &self.puppetdb {
            puppetdb.check()?;
        }
        if let Some(puppetserver) = &self.puppetserver {
            puppetserver.check()?;
        }
        if let Some(follow) = &self.follow {
            follow.check()?;
        }
        self.code.check()?;
        self.inventory.check()?;
        self.ssh.check()?;
        self.directories.check()?;
        if self.jobs.task_concurrency == 0 {
            return Err("jobs.task_concurrency must be at least 1".to_owned());
        }
        if self.jobs.global_concurrent_compiles == 0 {
            return Err("jobs.global_concurrent_compiles must be at least 1".to_owned());
        }
        if let Some(url) = &self.jobs.console_url
            && !(url.starts_with("https://") || url.starts_with("http://"))
        {
            return Err("jobs.console_url must begin with https:// or http://".to_owned());
        }
        if !(1..=NODE_TIMEOUT_MAX_S).contains(&self.jobs.node_timeout_s) {
            return Err(format!(
                "jobs.node_timeout_s must be from 1 to {NODE_TIMEOUT_MAX_S} (30 days)"
            ));
        }
        if self.audit.keep_days == Some(0) {
            return Err(
                "audit.keep_days must be at least 1; without it entries are kept".to_owned(),
            );
        }
        if self.jobs.keep_days < 2 {
            return Err("jobs.keep_days must be at least 2".to_owned());
        }
        Ok(())
    }

    fn resolve(&mut self, base: &Path) {
        let mut paths = vec![&mut self.data_dir, &mut self.code.codedir];
        paths.push(&mut self.code.directory);
        paths.extend(self.code.hiera_config.as_mut());
        paths.extend(self.code.r10k_config.as_mut());
        paths.extend(self.code.webhook_secret_file.as_mut());
        paths.extend(self.code.staging_directory.as_mut());
        let statuses = self.code.commit_statuses.values_mut();
        paths.extend(statuses.map(|it| &mut it.token_file));
        paths.extend(self.ca.dir.as_mut());
        paths.extend(self.broker.authorization.as_mut());
        if let Some(tls) = &mut self.tls {
            paths.extend([&mut tls.cert, &mut tls.key, &mut tls.ca]);
            paths.extend(tls.crl.as_mut());
        }
        paths.extend(self.ssh.known_hosts.as_mut());
        paths.extend(self.directories.paths());
        if let Some(puppetdb) = &mut self.puppetdb {
            paths.extend(puppetdb.paths());
        }
        if let Some(puppetserver) = &mut self.puppetserver {
            paths.extend(puppetserver.paths());
        }
        for path in paths {
            *path = base.join(&path);
        }
    }
}

// === impl Code ===

impl Code {
    /// Which versions stay that nobody uses.
    pub(crate) fn keep(&self) -> Keep {
        Keep {
            versions: match self.keep_versions {
                KeepVersions::Number(number) => Some(number),
                KeepVersions::Word(All::All) => None,
            },
            age: Duration::from_secs(u64::from(self.keep_days) * 24 * 60 * 60),
        }
    }

    fn check(&self) -> Result<(), String> {
        if !(1..=FOLLOWERS_MAX_S).contains(&self.followers_timeout_s) {
            return Err("code.followers_timeout_s must be from 1 to 3600".to_owned());
        }
        // A follower is heard every 20 s when all is well.
        if !(30..=FOLLOWERS_MAX_S).contains(&self.followers_lease_s) {
            return Err("code.followers_lease_s must be from 30 to 3600".to_owned());
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
            listen: any_address(8140),
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

impl Code {
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
            followers_timeout_s: code_manager::defaults::FOLLOWERS_TIMEOUT.as_secs(),
            followers_lease_s: code_manager::defaults::FOLLOWER_LEASE.as_secs(),
            keep_versions: KeepVersions::Number(code_manager::defaults::KEEP_VERSIONS),
            keep_days: 7,
            plans: PlanCode::Pinned,
            plans_of: BTreeMap::new(),
            puppet_runs: RunCode::Latest,
            puppet_runs_of: BTreeMap::new(),
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, ConfigError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tutti.toml");
        std::fs::write(&path, text).unwrap();
        Config::read(&path)
    }

    #[test]
    fn one_line_is_a_whole_configuration() {
        let config = read("certname = 'server.example'").unwrap();
        assert_eq!(config.api.listen.port(), 8143);
        assert_eq!(config.store_url(), "sqlite:/var/lib/tutti/tutti.db");
    }

    #[test]
    fn the_global_layer_of_hiera_is_where_puppet_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let at = |codedir: &Path, hiera_config: Option<&str>| {
            let code = Code {
                codedir: codedir.to_owned(),
                hiera_config: hiera_config.map(PathBuf::from),
                ..Code::default()
            };
            code.hiera_config()
        };
        let own = directory.path().join("hiera.yaml");
        assert_eq!(at(directory.path(), None), own);
        assert_eq!(at(directory.path(), Some("/x.yaml")), Path::new("/x.yaml"));
        let (debian, nowhere) = (Path::new("/etc/puppet/code"), "/etc/puppet/hiera.yaml");
        if !debian.join("hiera.yaml").exists() {
            assert_eq!(at(debian, None), Path::new(nowhere));
        }
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line() {
        let error = read("certname = 'a'\n[jobs]\ntask_concurency = 3\n")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("task_concurency") && error.contains("line 3"),
            "{error}"
        );
    }

    #[test]
    fn a_certname_that_is_a_path_is_refused() {
        for name in ["../x", "a/b", "", "a\\u0000b"] {
            let error = read(&format!("certname = \"{name}\""))
                .unwrap_err()
                .to_string();
            assert!(error.contains("certname"), "{name}: {error}");
        }
    }

    #[test]
    fn revocation_is_never_off_by_omission() {
        let tls = "[tls]\ncert = 'c'\nkey = 'k'\nca = 'a'";
        let with_ca = format!("certname = 'a'\ndata_dir = '/d'\n{tls}\n");
        let without_ca = format!("certname = 'a'\nca.enabled = false\n{tls}\n");
        let crl = |text: &str| read(text).unwrap().tls_files().crl;
        assert_eq!(crl(&with_ca), Some("/d/ca/ca_crl.pem".into()));
        let error = read(&without_ca).unwrap_err().to_string();
        assert!(error.contains("tls.crl"), "{error}");
        for text in [&with_ca, &without_ca] {
            assert_eq!(crl(&format!("{text}crl = '/x.pem'")), Some("/x.pem".into()));
            assert_eq!(crl(&format!("{text}no_crl = true")), None);
            assert!(read(&format!("{text}crl = '/x.pem'\nno_crl = true")).is_err());
        }
        // A broker is no CA, so it has no list of its own to fall back on.
        assert!(read(&with_ca).unwrap().require_revocation().is_err());
    }

    #[test]
    fn a_puppetserver_is_asked_over_https_with_the_files_that_are_named() {
        let with = |keys: &str| read(&format!("certname = 'a'\n[puppetserver]\n{keys}"));
        let config = with("url = 'https://puppet:8140'\ncert = 'x.pem'\ncacert = '/ca.pem'");
        let config = config.unwrap();
        let named = config.puppetserver.clone().unwrap();
        let files = config.client_files(
            named.cacert.as_deref(),
            named.cert.as_deref(),
            named.key.as_deref(),
        );
        assert!(files.cert.is_absolute() && files.cert.ends_with("x.pem"));
        assert_eq!(files.key, config.tls_files().key);
        assert_eq!((files.ca, files.crl), ("/ca.pem".into(), None));
        for bad in ["http://puppet:8140", "puppet:8140", "https://", ""] {
            let error = with(&format!("url = '{bad}'")).unwrap_err().to_string();
            assert!(error.contains("puppetserver.url"), "{bad}: {error}");
        }
        assert!(with("cert = 'x'").is_err(), "no url");
    }

    #[test]
    fn a_concurrency_of_zero_is_refused() {
        let error = read("certname = 'a'\n[jobs]\ntask_concurrency = 0")
            .unwrap_err()
            .to_string();
        assert!(error.contains("at least 1"), "{error}");
    }

    #[test]
    fn a_node_needs_some_time_and_not_for_ever() {
        for seconds in [0, NODE_TIMEOUT_MAX_S + 1] {
            let text = format!("certname = 'a'\n[jobs]\nnode_timeout_s = {seconds}");
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains("node_timeout_s"), "{error}");
        }
    }

    #[test]
    fn relative_paths_start_at_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tutti.toml");
        std::fs::write(&path, "certname = 'a'\ndata_dir = 'state'").unwrap();
        assert_eq!(
            Config::read(&path).unwrap().data_dir,
            directory.path().join("state")
        );
    }
}
