//! `tutti.toml`: the configuration of a server or a broker. Main type: [`Config`].
//!
//! Each section is a type of this module; the modules beside it read them and start the engines.
//!
//! Invariant: an unknown key is an error that names its place, and every value has a default except
//! those that only the site can know.

pub(crate) mod access;
pub(crate) mod catalogs;
pub(crate) mod code;
pub(crate) mod directories;
mod error;
pub(crate) mod follow;
mod inventory;
#[cfg(test)]
mod keys;
pub(crate) mod puppetserver;
mod sections;
pub(crate) mod ssh;
pub(crate) mod telemetry;
#[cfg(test)]
mod tests;
mod tls;
mod tls_files;

use std::path::{Path, PathBuf};

use serde::Deserialize;

use self::access::AccessSection;
use self::catalogs::CatalogsSection;
use self::code::CodeSection;
use self::directories::DirectoriesSection;
use self::error::ConfigError;
use self::follow::FollowSection;
use self::inventory::{EmbeddedInventorySection, PuppetDbSection, ReportsSection};
use self::puppetserver::PuppetserverSection;
use self::sections::{
    ApiSection, AuditSection, BrokerSection, BucketSection, CaSection, JobsSection,
    PuppetApiSection, StoreSection,
};
use self::ssh::SshSection;
use self::telemetry::TelemetrySection;
use self::tls::TlsSection;

/// Default path of the server's configuration.
pub(crate) const DEFAULT_PATH: &str = "/etc/tutti/tutti.toml";

/// The whole file. All paths may be relative to the file's own directory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Path of the file itself.
    #[serde(skip)]
    pub file: PathBuf,
    /// The server's own name: the CN of its certificate and the host that agents connect to.
    pub certname: String,
    /// Directory of the state: database, CA, keys, blobs.
    #[serde(default = "default_data_dir")]
    pub data_dir: PathBuf,
    /// Certificates other than those that `tutti server` makes with its own CA.
    #[serde(default)]
    pub tls: Option<TlsSection>,
    #[serde(default)]
    pub ca: CaSection,
    #[serde(default)]
    pub api: ApiSection,
    #[serde(default)]
    pub puppet_api: PuppetApiSection,
    #[serde(default)]
    pub bucket: BucketSection,
    #[serde(default)]
    pub broker: BrokerSection,
    #[serde(default)]
    pub store: StoreSection,
    #[serde(default)]
    pub code: CodeSection,
    #[serde(default)]
    pub catalogs: CatalogsSection,
    #[serde(default)]
    pub audit: AuditSection,
    #[serde(default)]
    pub jobs: JobsSection,
    #[serde(default)]
    pub telemetry: TelemetrySection,
    #[serde(default)]
    pub access: AccessSection,
    #[serde(default)]
    pub directories: DirectoriesSection,
    /// An existing PuppetDB; `None` uses the embedded inventory.
    #[serde(default)]
    pub puppetdb: Option<PuppetDbSection>,
    /// A puppetserver from which classes are read, and which may be behind this server.
    #[serde(default)]
    pub puppetserver: Option<PuppetserverSection>,
    /// The embedded inventory, used if there is no PuppetDB.
    #[serde(default)]
    pub inventory: EmbeddedInventorySection,
    /// Reports of Puppet runs that agents send to this server.
    #[serde(default)]
    pub reports: ReportsSection,
    #[serde(default)]
    pub ssh: SshSection,
    /// For `tutti follow`: the server that is followed.
    #[serde(default)]
    pub follow: Option<FollowSection>,
}

fn default_data_dir() -> PathBuf {
    PathBuf::from("/var/lib/tutti")
}

// === impl Config ===

impl Config {
    /// Reads and checks the file.
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read {
            path: path.to_owned(),
            source,
        })?;
        let mut config: Self =
            decode_errors::toml::from_str(&text).map_err(|source| ConfigError::Parse {
                path: path.to_owned(),
                source,
            })?;
        config.check().map_err(|what| ConfigError::Value {
            path: path.to_owned(),
            what,
        })?;
        // agents get paths of the code, and refuse relative ones
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        config.resolve(absolute.parent().unwrap_or(Path::new("/")));
        path.clone_into(&mut config.file);
        Ok(config)
    }

    pub(crate) fn ca_dir(&self) -> PathBuf {
        self.ca
            .dir
            .clone()
            .unwrap_or_else(|| self.data_dir.join("ca"))
    }

    /// Files and directories with secrets of this server, which code of environments must not read.
    pub(crate) fn secret_paths(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.file.clone(), self.data_dir.clone(), self.ca_dir()];
        paths.push(self.tls_files().key);
        paths.extend(self.code.webhook_secret_file.clone());
        paths.extend(self.code.r10k_config.clone());
        let statuses = self.code.commit_statuses.values();
        paths.extend(statuses.map(|it| it.token_file.clone()));
        paths.extend(self.puppetdb.as_ref().and_then(|it| it.key.clone()));
        paths.extend(self.puppetserver.as_ref().and_then(|it| it.key.clone()));
        let mut directories = self.directories.clone();
        paths.extend(directories.paths().into_iter().map(|it| it.clone()));
        paths
    }

    pub(crate) fn store_url(&self) -> String {
        self.store
            .url
            .clone()
            .unwrap_or_else(|| format!("sqlite:{}", self.data_dir.join("tutti.db").display()))
    }

    /// Settings for opening the server's own database.
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
            puppetserver.check(&self.certname, self.puppet_api.listen.port())?;
            if puppetserver.front && !self.puppet_api.enabled {
                return Err("puppetserver.front needs puppet_api.enabled".to_owned());
            }
        }
        if let Some(follow) = &self.follow {
            follow.check()?;
        }
        self.code.check()?;
        self.catalogs.check(self.puppetserver.is_some())?;
        self.inventory.check()?;
        self.reports.check()?;
        self.ssh.check()?;
        self.directories.check()?;
        self.jobs.check()?;
        self.puppet_api.check()?;
        self.bucket.check()?;
        self.ca.check()?;
        if self.audit.keep_days == Some(0) {
            return Err(
                "audit.keep_days must be at least 1; without it entries are kept".to_owned(),
            );
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
        paths.extend(self.puppet_api.auth_conf.as_mut());
        paths.extend(self.puppet_api.fileserver_conf.as_mut());
        paths.extend(self.broker.authorization.as_mut());
        if let Some(tls) = &mut self.tls {
            paths.extend([&mut tls.cert, &mut tls.key, &mut tls.ca]);
            paths.extend(tls.crl.as_mut());
        }
        paths.extend(self.ssh.known_hosts.as_mut());
        paths.extend(self.directories.paths());
        paths.extend(self.reports.paths());
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
