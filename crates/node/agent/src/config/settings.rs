//! All options: name, type and purpose.
//!
//! [`AgentSettings`] holds the values of one source (the command line or the file); a `None` is an
//! option that the source does not set. Invariant: names are those of pxp-agent's `pxp-agent.conf`,
//! so that an existing file and an existing command line work unchanged; options of Tutti alone are
//! marked.

use clap::{ArgAction, Args};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The options of `tutti-agent`, as written by the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct AgentSettings {
    /// WebSocket address of the broker, wss://HOST:8142/pcp2/
    #[arg(long, value_name = "URI")]
    pub broker_ws_uri: Option<String>,
    /// Brokers in order of preference (file only).
    #[arg(skip)]
    pub broker_ws_uris: Option<Vec<String>>,
    /// Puppet servers for task files, in order (file only).
    #[arg(skip)]
    pub primary_uris: Option<Vec<String>>,
    /// The older name of `primary-uris` (file only).
    #[arg(skip)]
    pub master_uris: Option<Vec<String>>,
    /// Accepted for pxp-agent's sake; has no effect (use primary-uris)
    #[arg(long, value_name = "URI")]
    pub primary_uri: Option<String>,
    /// Accepted for pxp-agent's sake; has no effect (use primary-uris)
    #[arg(long, value_name = "URI")]
    pub master_uri: Option<String>,
    /// HTTP proxy for the connection to the broker, [http://]HOST:PORT
    #[arg(long, value_name = "URI")]
    pub broker_ws_proxy: Option<String>,
    /// HTTP proxy for downloads
    #[arg(long, value_name = "URI")]
    pub master_proxy: Option<String>,
    /// PCP version, 1 or 2
    #[arg(long, value_name = "VERSION")]
    #[serde(deserialize_with = "text_or_number")]
    pub pcp_version: Option<String>,
    /// Seconds for one connection attempt
    #[arg(long, value_name = "SECS")]
    pub connection_timeout: Option<u32>,
    /// Seconds from WebSocket ping to ping, more than 5
    #[arg(long, value_name = "SECS")]
    pub ping_interval: Option<u32>,
    /// Unanswered pings that are forgiven
    #[arg(long, value_name = "N")]
    pub allowed_keepalive_timeouts: Option<u32>,
    /// Seconds to wait for the answer to a PCP v1 association
    #[arg(long, value_name = "SECS")]
    pub association_timeout: Option<u32>,
    /// Accepted for pxp-agent's sake; has no effect
    #[arg(long, value_name = "SECS")]
    pub association_request_ttl: Option<u32>,
    /// Seconds of life of a PCP v1 message
    #[arg(long, value_name = "SECS")]
    pub pcp_message_ttl: Option<u32>,
    /// Seconds to connect for a download
    #[arg(long, value_name = "SECS")]
    pub task_download_connect_timeout: Option<u32>,
    /// Seconds for a whole download
    #[arg(long, value_name = "SECS")]
    pub task_download_timeout: Option<u32>,
    /// CA certificate or bundle of certificates, PEM
    #[arg(long, value_name = "FILE")]
    pub ssl_ca_cert: Option<String>,
    /// Certificate of this agent with its chain, PEM
    #[arg(long, value_name = "FILE")]
    pub ssl_cert: Option<String>,
    /// Private key of this agent, PEM, not encrypted
    #[arg(long, value_name = "FILE")]
    pub ssl_key: Option<String>,
    /// Revocation lists of the CAs, PEM
    #[arg(long, value_name = "FILE")]
    pub ssl_crl: Option<String>,
    /// Log file; '-' for standard output
    #[arg(long, value_name = "FILE")]
    pub logfile: Option<String>,
    /// none, fatal, error, warning, info, debug or trace
    #[arg(long, value_name = "LEVEL")]
    pub loglevel: Option<String>,
    /// Accepted for pxp-agent's sake; has no effect (the journal has facilities)
    #[arg(long, value_name = "FACILITY")]
    pub syslog_facility: Option<String>,
    /// Log every message in the PCP access log
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub log_pcp_access: Option<bool>,
    /// PCP access log file; '-' for standard output
    #[arg(long, value_name = "FILE")]
    pub pcp_access_logfile: Option<String>,
    /// Directory of external modules
    #[arg(long, value_name = "DIR")]
    pub modules_dir: Option<String>,
    /// Directory of the external modules' configuration
    #[arg(long, value_name = "DIR")]
    pub modules_config_dir: Option<String>,
    /// Directory of results (the spool)
    #[arg(long, value_name = "DIR")]
    pub spool_dir: Option<String>,
    /// Time for which results are kept: <n>m, <n>h or <n>d; 0d keeps them forever
    #[arg(long, value_name = "TTL")]
    pub spool_dir_purge_ttl: Option<String>,
    /// Directory of downloaded task files
    #[arg(long, value_name = "DIR")]
    pub task_cache_dir: Option<String>,
    /// Time for which unused task files are kept: <n>m, <n>h or <n>d; 0d forever
    #[arg(long, value_name = "TTL")]
    pub task_cache_dir_purge_ttl: Option<String>,
    /// Largest result that is sent, in bytes
    #[arg(long, value_name = "BYTES")]
    pub max_message_size: Option<u64>,
    /// Stay in the foreground (tutti-agent always does)
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub foreground: Option<bool>,
    /// File with the agent's process id (PID file)
    #[arg(long, value_name = "FILE")]
    pub pidfile: Option<String>,

    // --- ours, unknown to pxp-agent ---
    /// Actions that run at the same time; further ones wait
    #[arg(long, value_name = "N")]
    pub concurrency: Option<u32>,
    /// Bytes of output carried in a result, per stream
    #[arg(long, value_name = "BYTES")]
    pub max_output_bytes: Option<u64>,
    /// Bytes of output kept in the spool, per stream, in whole MiB; the rest is
    /// counted and dropped (not on file systems without holes, such as NFS 3)
    #[arg(long, value_name = "BYTES")]
    pub max_spool_output_bytes: Option<u64>,
    /// Seconds an action may run; 0 for no limit
    #[arg(long, value_name = "SECS")]
    pub action_timeout: Option<u32>,
    /// Seconds for which collected facts count as fresh; 0 collects at each request
    #[arg(long, value_name = "SECS")]
    pub facts_min_interval: Option<u32>,
    /// Largest message accepted from the broker, in bytes
    #[arg(long, value_name = "BYTES")]
    pub max_incoming_message_size: Option<u64>,
    /// Certnames that brokers may have; absent: the host of their address; "*": any (file only).
    #[arg(skip)]
    pub broker_certnames: Option<Vec<String>>,
    /// Longest wait between connection attempts, in seconds
    #[arg(long, value_name = "SECS")]
    pub reconnect_max_delay: Option<u32>,
    /// Try the brokers in a random order instead of the listed one
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub shuffle_brokers: Option<bool>,
    /// Puppet CA to fetch a certificate from when there is none, HOST[:8140]
    #[arg(long, value_name = "HOST[:PORT]")]
    pub ca_uri: Option<String>,
    /// SHA-256 fingerprint that the CA certificate must have
    #[arg(long, value_name = "SHA256")]
    pub ca_fingerprint: Option<String>,
    /// Seconds between looks for our signed certificate
    #[arg(long, value_name = "SECS")]
    pub wait_for_cert: Option<u32>,
    /// Name in our certificate; the host's name when not given
    #[arg(long, value_name = "NAME")]
    pub certname: Option<String>,
    /// Puppet's ssl directory, where certificates are looked for and put
    #[arg(long, value_name = "DIR")]
    pub ssl_dir: Option<String>,
}

/// The whole command line, without the subcommands.
#[derive(Debug, Clone, Default, Args)]
pub struct AgentArguments {
    /// Configuration file (.conf in HOCON, or .json)
    #[arg(long, value_name = "FILE")]
    pub config_file: Option<String>,
    /// Log more: the same as --loglevel debug; twice for trace
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
    /// All options that may also be in the file.
    #[command(flatten)]
    pub settings: AgentSettings,
}

// === impl AgentSettings ===

impl AgentSettings {
    /// The options that this source sets, by name.
    pub fn to_set_options(&self) -> Map<String, Value> {
        let Ok(Value::Object(all)) = serde_json::to_value(self) else {
            return Map::new();
        };
        all.into_iter().filter(|(_, v)| !v.is_null()).collect()
    }

    /// Values of `self`, and of `below` for options that `self` does not set.
    #[must_use]
    pub fn merge_over(&self, below: &Self) -> Self {
        let mut all = below.to_set_options();
        all.extend(self.to_set_options());
        serde_json::from_value(Value::Object(all))
            .expect("values that came out of Settings go into Settings")
    }
}

/// Accepts `pcp-version: 2` as well as `pcp-version: "2"`.
fn text_or_number<'de, D>(deserializer: D) -> Result<Option<String>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    match Option::<Value>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(_) => Err(serde::de::Error::custom("must be \"1\" or \"2\"")),
    }
}
