//! The agent's configuration: what may be written ([`settings`]), where it is
//! read from ([`file`]), and what it comes to ([`Config`]).
//!
//! The rule that must hold: after [`load`] has returned, nothing in the agent
//! asks for an option by name again; every default has been applied and every
//! value is of its closed type.

pub mod error;
pub mod file;
pub mod paths;
mod resolve;
pub mod settings;
pub mod tls;
pub mod ttl;

use std::path::PathBuf;
use std::time::Duration;

pub use error::ConfigError;
use paths::DefaultPaths;
use settings::Arguments;
pub use tls::host_name;

use crate::bootstrap::BootstrapConfig;
use crate::connection::ConnectionConfig;
use crate::connection::proxy::ProxyUri;
use crate::logging::LogConfig;

/// A complete configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// How to reach the broker.
    pub connection: ConnectionConfig,
    /// What the actions may use.
    pub actions: ActionConfig,
    /// Where log lines go.
    pub log: LogConfig,
    /// Where the PCP access log goes, when it is wanted.
    pub access_log: Option<PathBuf>,
    /// File with our process id; `None` in the foreground, unless one is named.
    pub pidfile: Option<PathBuf>,
    /// How to get a certificate when there is none; `None` when it was not
    /// said where from.
    pub bootstrap: Option<BootstrapConfig>,
    /// The revocation list that comes from `bootstrap`'s CA; `None` when there
    /// is no such CA, or the operator named another list or wants none.
    pub crl_from_ca: Option<PathBuf>,
    /// Things the operator should know, to be logged once logging works.
    pub notes: Vec<String>,
}

/// The part of the configuration that concerns actions and their files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionConfig {
    /// `https://host:port` of the servers with task files, in order.
    pub primary_uris: Vec<String>,
    /// Proxy for downloads.
    pub proxy: Option<ProxyUri>,
    /// Limit for the connect of a download.
    pub download_connect_timeout: Duration,
    /// Limit for a whole download.
    pub download_timeout: Duration,
    /// Directory of external modules; `None` when the default one is missing.
    pub modules_dir: Option<PathBuf>,
    /// Directory of their configuration.
    pub modules_config_dir: PathBuf,
    /// Directory of results.
    pub spool_dir: PathBuf,
    /// How long results are kept; `None` for ever.
    pub spool_ttl: Option<Duration>,
    /// Directory of task files.
    pub cache_dir: PathBuf,
    /// How long unused task files are kept; `None` for ever.
    pub cache_ttl: Option<Duration>,
    /// Largest result that is sent.
    pub max_message_bytes: usize,
    /// Actions at the same time.
    pub concurrency: usize,
    /// Bytes of output carried in a result, per stream.
    pub max_output_bytes: u64,
    /// Bytes of output kept on the disk, per stream.
    pub max_spool_output_bytes: u64,
    /// How long an action may run; `None` for no limit.
    pub action_timeout: Option<Duration>,
    /// Age up to which facts count as fresh.
    pub facts_min_interval: Duration,
}

/// Command line over file over defaults.
pub fn load(arguments: &Arguments) -> Result<Config, ConfigError> {
    load_with(arguments, &DefaultPaths::for_this_user())
}

/// The same with other default places.
pub fn load_with(arguments: &Arguments, paths: &DefaultPaths) -> Result<Config, ConfigError> {
    let (path, named) = match &arguments.config_file {
        Some(path) => (PathBuf::from(path), true),
        None => (paths.config_file.clone(), false),
    };
    // pxp-agent starts without the file it was told to read; so do we, but a
    // typo in the name deserves a line in the log.
    let missing = named && !path.exists();
    let from_file = file::read(&path, named && !missing)?;
    let mut notes = Vec::new();
    if missing {
        notes.push(format!(
            "configuration file '{}' does not exist; going on with the command line and defaults",
            path.display()
        ));
    }
    for key in &from_file.unknown_keys {
        notes.push(format!(
            "option '{key}' in '{}' is unknown and ignored",
            path.display()
        ));
    }
    resolve::resolve(arguments, from_file.settings, paths, notes)
}
