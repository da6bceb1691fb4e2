//! Conversion of written settings to the effective configuration.
//!
//! Invariant: every check that needs no network is made here, before anything is started, and its
//! message names the option.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pki::ServerCertnames;

use super::error::AgentConfigError;
use super::paths::DefaultPaths;
use super::settings::{AgentArguments, AgentSettings};
use super::{ActionConfig, Config, tls, ttl};
use crate::connection::backoff::BackoffLimits;
use crate::connection::brokers::BrokerUri;
use crate::connection::keepalive::KeepaliveConfig;
use crate::connection::proxy::ProxyUri;
use crate::connection::{ConnectionConfig, PcpVersion};
use crate::logging::{AgentLogLevel, LogConfig, LogOutput};
use crate::{authority, defaults};

/// Applies defaults and checks.
pub(super) fn resolve(
    arguments: &AgentArguments,
    file: AgentSettings,
    paths: &DefaultPaths,
    mut notes: Vec<String>,
) -> Result<Config, AgentConfigError> {
    let brokers = brokers(&arguments.settings, &file)?;
    let settings = arguments.settings.merge_over(&file);
    note_dead_options(&settings, &mut notes);
    let log = log(arguments, &settings, paths, &mut notes)?;
    let certificates = tls::resolve(&settings, paths, &mut notes)?;
    let actions = actions(&settings, &file, paths, &mut notes)?;
    let keepalive = keepalive(&settings)?;
    Ok(Config {
        connection: ConnectionConfig {
            brokers,
            shuffle_brokers: settings.shuffle_brokers.unwrap_or(false),
            proxy: proxy("broker-ws-proxy", settings.broker_ws_proxy.as_deref())?,
            pcp_version: pcp_version(&settings)?,
            tls: certificates.files,
            broker_certnames: ServerCertnames::from_list(
                settings.broker_certnames.as_deref().unwrap_or_default(),
            ),
            connection_timeout: seconds(
                "connection-timeout",
                settings.connection_timeout,
                defaults::CONNECTION_TIMEOUT,
            )?,
            asleep_after: keepalive.longest_silence(),
            keepalive,
            association_timeout: seconds(
                "association-timeout",
                settings.association_timeout,
                defaults::ASSOCIATION_TIMEOUT,
            )?,
            message_ttl: seconds(
                "pcp-message-ttl",
                settings.pcp_message_ttl,
                defaults::MESSAGE_TTL,
            )?,
            max_incoming_bytes: incoming_limit(&settings)?,
            backoff: backoff(&settings)?,
            ..ConnectionConfig::default()
        },
        actions,
        log,
        access_log: settings.log_pcp_access.unwrap_or(false).then(|| {
            path_or(
                settings.pcp_access_logfile.as_deref(),
                &paths.pcp_access_logfile,
            )
        }),
        pidfile: pidfile(&settings, paths),
        bootstrap: certificates.bootstrap,
        crl_from_ca: certificates.crl_from_ca,
        notes,
    })
}

/// Path of the PID file, which keeps a second agent from starting. As with pxp-agent, an agent in
/// the foreground has no default file: it may run beside the service.
fn pidfile(settings: &AgentSettings, paths: &DefaultPaths) -> Option<PathBuf> {
    match &settings.pidfile {
        Some(named) => Some(path_or(Some(named), &paths.pidfile)),
        None if settings.foreground == Some(true) => None,
        None => Some(paths.pidfile.clone()),
    }
}

/// The broker of the command line replaces the file's list.
fn brokers(cli: &AgentSettings, file: &AgentSettings) -> Result<Vec<BrokerUri>, AgentConfigError> {
    let parse = |option, text: &str| -> Result<BrokerUri, AgentConfigError> {
        text.parse()
            .map_err(|source| AgentConfigError::Broker { option, source })
    };
    if let Some(uri) = &cli.broker_ws_uri {
        return Ok(vec![parse("broker-ws-uri", uri)?]);
    }
    match (&file.broker_ws_uri, &file.broker_ws_uris) {
        (Some(_), Some(_)) => Err(AgentConfigError::invalid(
            "broker-ws-uris",
            "broker-ws-uri is set as well; keep one of the two",
        )),
        (Some(uri), None) => Ok(vec![parse("broker-ws-uri", uri)?]),
        (None, Some(uris)) if !uris.is_empty() => uris
            .iter()
            .map(|uri| parse("broker-ws-uris", uri))
            .collect(),
        _ => Err(AgentConfigError::invalid(
            "broker-ws-uri",
            "no broker is configured; set it to wss://HOST:8142/pcp2/",
        )),
    }
}

fn note_dead_options(settings: &AgentSettings, notes: &mut Vec<String>) {
    let dead = [
        ("primary-uri", settings.primary_uri.is_some()),
        ("master-uri", settings.master_uri.is_some()),
        (
            "association-request-ttl",
            settings.association_request_ttl.is_some(),
        ),
        ("syslog-facility", settings.syslog_facility.is_some()),
    ];
    for (option, _) in dead.iter().filter(|(_, set)| *set) {
        notes.push(format!("option '{option}' is accepted but has no effect"));
    }
    if settings.foreground == Some(false) {
        notes.push(
            "option 'foreground' is false, but tutti-agent always stays in the foreground".into(),
        );
    }
}

fn pcp_version(settings: &AgentSettings) -> Result<PcpVersion, AgentConfigError> {
    match settings.pcp_version.as_deref().unwrap_or("1") {
        "1" => Ok(PcpVersion::V1),
        "2" => Ok(PcpVersion::V2),
        other => Err(AgentConfigError::invalid(
            "pcp-version",
            format!("'{other}' is not a PCP version; it must be \"1\" or \"2\""),
        )),
    }
}

fn keepalive(settings: &AgentSettings) -> Result<KeepaliveConfig, AgentConfigError> {
    let interval = settings
        .ping_interval
        .map_or(defaults::PING_INTERVAL, |s| Duration::from_secs(s.into()));
    if interval <= defaults::PONG_TIMEOUT {
        return Err(AgentConfigError::invalid(
            "ping-interval",
            format!(
                "must be more than {} seconds, the time a pong may take",
                defaults::PONG_TIMEOUT.as_secs()
            ),
        ));
    }
    Ok(KeepaliveConfig {
        interval,
        pong_timeout: defaults::PONG_TIMEOUT,
        allowed_misses: settings
            .allowed_keepalive_timeouts
            .unwrap_or(defaults::ALLOWED_KEEPALIVE_TIMEOUTS),
    })
}

fn backoff(settings: &AgentSettings) -> Result<BackoffLimits, AgentConfigError> {
    let ceiling = seconds(
        "reconnect-max-delay",
        settings.reconnect_max_delay,
        defaults::RECONNECT_CEILING,
    )?;
    Ok(BackoffLimits {
        ceiling,
        ..BackoffLimits::default()
    })
}

fn incoming_limit(settings: &AgentSettings) -> Result<usize, AgentConfigError> {
    let bytes = settings
        .max_incoming_message_size
        .map_or(Ok(defaults::MAX_INCOMING_BYTES), usize::try_from)
        .unwrap_or(usize::MAX);
    if bytes < defaults::MIN_INCOMING_BYTES {
        return Err(AgentConfigError::invalid(
            "max-incoming-message-size",
            format!("must be at least {} bytes", defaults::MIN_INCOMING_BYTES),
        ));
    }
    Ok(bytes)
}

fn log(
    arguments: &AgentArguments,
    settings: &AgentSettings,
    paths: &DefaultPaths,
    notes: &mut Vec<String>,
) -> Result<LogConfig, AgentConfigError> {
    let level = match arguments.verbose {
        0 => match settings.loglevel.as_deref() {
            None => AgentLogLevel::default(),
            Some(text) => text
                .parse()
                .map_err(|reason: String| AgentConfigError::invalid("loglevel", reason))?,
        },
        1 => AgentLogLevel::DEBUG,
        _ => AgentLogLevel::TRACE,
    };
    let output = match settings.logfile.as_deref() {
        Some("-") => LogOutput::Stdout,
        Some(system @ ("syslog" | "eventlog")) => {
            notes.push(format!(
                "logfile '{system}': tutti-agent writes no {system}; logging to standard output, \
                 which systemd puts into the journal"
            ));
            LogOutput::Stdout
        }
        other => LogOutput::File(path_or(other, &paths.logfile)),
    };
    Ok(LogConfig { level, output })
}

fn actions(
    settings: &AgentSettings,
    file: &AgentSettings,
    paths: &DefaultPaths,
    notes: &mut Vec<String>,
) -> Result<ActionConfig, AgentConfigError> {
    let primaries = match (&file.primary_uris, &file.master_uris) {
        (Some(primary), _) => primary.as_slice(),
        (None, Some(master)) => master.as_slice(),
        (None, None) => &[],
    };
    Ok(ActionConfig {
        primary_uris: primaries
            .iter()
            .map(|uri| primary_uri(uri))
            .collect::<Result<_, _>>()?,
        proxy: proxy("master-proxy", settings.master_proxy.as_deref())?,
        download_connect_timeout: seconds(
            "task-download-connect-timeout",
            settings.task_download_connect_timeout,
            actions::defaults::DOWNLOAD_CONNECT_TIMEOUT,
        )?,
        download_timeout: seconds(
            "task-download-timeout",
            settings.task_download_timeout,
            actions::defaults::DOWNLOAD_TIMEOUT,
        )?,
        modules_dir: modules_dir(settings, paths, notes)?,
        modules_config_dir: path_or(
            settings.modules_config_dir.as_deref(),
            &paths.modules_config_dir,
        ),
        spool_dir: path_or(settings.spool_dir.as_deref(), &paths.spool_dir),
        spool_ttl: ttl_of(
            "spool-dir-purge-ttl",
            settings.spool_dir_purge_ttl.as_deref(),
        )?,
        cache_dir: path_or(settings.task_cache_dir.as_deref(), &paths.task_cache_dir),
        cache_ttl: ttl_of(
            "task-cache-dir-purge-ttl",
            settings.task_cache_dir_purge_ttl.as_deref(),
        )?,
        max_message_bytes: settings
            .max_message_size
            .map_or(Ok(actions::defaults::MAX_MESSAGE_BYTES), usize::try_from)
            .unwrap_or(usize::MAX),
        concurrency: concurrency(settings)?,
        max_output_bytes: settings
            .max_output_bytes
            .unwrap_or(actions::defaults::MAX_OUTPUT_BYTES),
        max_spool_output_bytes: spool_output(settings)?,
        facts_min_interval: settings
            .facts_min_interval
            .map_or(actions::defaults::FACTS_MIN_INTERVAL, |seconds| {
                Duration::from_secs(seconds.into())
            }),
        action_timeout: settings
            .action_timeout
            .and_then(NonZeroU32::new)
            .map(|s| Duration::from_secs(s.get().into())),
    })
}

fn spool_output(settings: &AgentSettings) -> Result<u64, AgentConfigError> {
    match settings.max_spool_output_bytes {
        Some(0) => Err(AgentConfigError::invalid(
            "max-spool-output-bytes",
            "must be at least 1, or no action could tell anything",
        )),
        Some(bytes) => Ok(bytes),
        None => Ok(actions::defaults::MAX_SPOOL_OUTPUT_BYTES),
    }
}

fn concurrency(settings: &AgentSettings) -> Result<usize, AgentConfigError> {
    match settings.concurrency {
        Some(0) => Err(AgentConfigError::invalid(
            "concurrency",
            "must be at least 1, or no action could ever run",
        )),
        Some(n) => Ok(usize::try_from(n).unwrap_or(usize::MAX)),
        None => Ok(actions::defaults::MAX_CONCURRENT_ACTIONS),
    }
}

/// Directory of external modules. A named one must exist; the default one may be missing, because
/// the important modules are built in.
fn modules_dir(
    settings: &AgentSettings,
    paths: &DefaultPaths,
    notes: &mut Vec<String>,
) -> Result<Option<PathBuf>, AgentConfigError> {
    match settings.modules_dir.as_deref().filter(|d| !d.is_empty()) {
        Some(dir) if Path::new(dir).is_dir() => Ok(Some(dir.into())),
        Some(dir) => Err(AgentConfigError::invalid(
            "modules-dir",
            format!("'{dir}' is not a directory"),
        )),
        None if paths.modules_dir.is_dir() => Ok(Some(paths.modules_dir.clone())),
        None => {
            notes.push(format!(
                "no external modules: '{}' does not exist",
                paths.modules_dir.display()
            ));
            Ok(None)
        }
    }
}

fn ttl_of(option: &'static str, text: Option<&str>) -> Result<Option<Duration>, AgentConfigError> {
    ttl::parse(text.unwrap_or(defaults::PURGE_TTL_OPTION)).map_err(|e| {
        AgentConfigError::invalid(option, format!("'{}' {e}", text.unwrap_or_default()))
    })
}

/// Normalizes `host`, `host:port` or `https://host[:port]` to `https://host:port`.
fn primary_uri(text: &str) -> Result<String, AgentConfigError> {
    let invalid = || {
        AgentConfigError::invalid(
            "primary-uris",
            format!("'{text}' is not of the form HOST, HOST:PORT or https://HOST:PORT"),
        )
    };
    let rest = text.strip_prefix("https://").unwrap_or(text);
    let (host, port) = authority::parse(rest.trim_end_matches('/')).ok_or_else(invalid)?;
    let port = port.unwrap_or(defaults::PUPPET_PORT);
    Ok(format!("https://{}", authority::format(&host, port)))
}

fn proxy(option: &'static str, text: Option<&str>) -> Result<Option<ProxyUri>, AgentConfigError> {
    match text.filter(|t| !t.is_empty()) {
        None => Ok(None),
        Some(text) => text
            .parse()
            .map(Some)
            .map_err(|reason: String| AgentConfigError::invalid(option, reason)),
    }
}

fn seconds(
    option: &'static str,
    value: Option<u32>,
    default: Duration,
) -> Result<Duration, AgentConfigError> {
    match value {
        Some(0) => Err(AgentConfigError::invalid(
            option,
            "must be at least 1 second",
        )),
        Some(seconds) => Ok(Duration::from_secs(seconds.into())),
        None => Ok(default),
    }
}

fn path_or(text: Option<&str>, default: &Path) -> PathBuf {
    match text.filter(|t| !t.is_empty()) {
        Some(text) => PathBuf::from(text),
        None => default.to_owned(),
    }
}
