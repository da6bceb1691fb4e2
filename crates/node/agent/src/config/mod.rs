//! The agent's configuration: its options ([`settings`]), the file reader ([`file`]), and the
//! result ([`Config`]).
//!
//! Invariant: after [`load`] has returned, no part of the agent reads an option by name; every
//! default has been applied and every value has its closed type.

pub mod error;
pub mod file;
pub mod paths;
mod resolve;
pub mod settings;
pub mod tls;
pub mod ttl;

use std::path::PathBuf;
use std::time::Duration;

pub use error::AgentConfigError;
use paths::DefaultPaths;
use settings::AgentArguments;
pub use tls::host_name;

use crate::bootstrap::BootstrapConfig;
use crate::connection::ConnectionConfig;
use crate::connection::proxy::ProxyUri;
use crate::logging::LogConfig;

/// A complete configuration, with all defaults applied.
#[derive(Debug, Clone)]
pub struct Config {
    /// Settings of the connection to brokers.
    pub connection: ConnectionConfig,
    /// Settings of actions and their files.
    pub actions: ActionConfig,
    /// Level and destination of log lines.
    pub log: LogConfig,
    /// Path of the PCP access log; `None` if it is off.
    pub access_log: Option<PathBuf>,
    /// File with the agent's process id; `None` in the foreground, unless one is named.
    pub pidfile: Option<PathBuf>,
    /// Settings for obtaining a certificate if there is none; `None` if no CA is configured.
    pub bootstrap: Option<BootstrapConfig>,
    /// The revocation list that comes from `bootstrap`'s CA; `None` if there is no such CA, or the
    /// operator named another list or disabled it.
    pub crl_from_ca: Option<PathBuf>,
    /// Notices for the operator, logged once logging works.
    pub notes: Vec<String>,
}

/// The part of the configuration that concerns actions and their files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionConfig {
    /// `https://host:port` of the servers with task files, in order of preference.
    pub primary_uris: Vec<String>,
    /// HTTP proxy for downloads; `None` connects directly.
    pub proxy: Option<ProxyUri>,
    /// Timeout of the connection of a download.
    pub download_connect_timeout: Duration,
    /// Timeout of a whole download.
    pub download_timeout: Duration,
    /// Directory of external modules; `None` if the default one is missing.
    pub modules_dir: Option<PathBuf>,
    /// Directory of the external modules' configuration.
    pub modules_config_dir: PathBuf,
    /// Directory of results (the spool).
    pub spool_dir: PathBuf,
    /// Time for which results are kept; `None` keeps them forever.
    pub spool_ttl: Option<Duration>,
    /// Directory of cached task files.
    pub cache_dir: PathBuf,
    /// Time for which unused task files are kept; `None` keeps them forever.
    pub cache_ttl: Option<Duration>,
    /// Largest message that is sent, in bytes.
    pub max_message_bytes: usize,
    /// Maximum number of actions that run at the same time.
    pub concurrency: usize,
    /// Maximum output carried in a result, in bytes per stream.
    pub max_output_bytes: u64,
    /// Maximum output kept on disk, in bytes per stream.
    pub max_spool_output_bytes: u64,
    /// Longest time an action may run; `None` for no limit.
    pub action_timeout: Option<Duration>,
    /// Age up to which facts count as fresh.
    pub facts_min_interval: Duration,
}

/// Loads the configuration: the command line overrides the file, which overrides defaults.
pub fn load(arguments: &AgentArguments) -> Result<Config, AgentConfigError> {
    load_with(arguments, &DefaultPaths::for_this_user())
}

/// Like [`load`], with other default paths.
pub fn load_with(
    arguments: &AgentArguments,
    paths: &DefaultPaths,
) -> Result<Config, AgentConfigError> {
    let (path, named) = match &arguments.config_file {
        Some(path) => (PathBuf::from(path), true),
        None => (paths.config_file.clone(), false),
    };
    // pxp-agent starts without the file named on its command line, and so does tutti-agent, but a
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
