//! Settings of the engine: [`EngineConfig`].

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::cache::DownloadConfig;
use crate::defaults::{
    FACTS_MIN_INTERVAL, MAX_CONCURRENT_ACTIONS, MAX_MESSAGE_BYTES, MAX_OUTPUT_BYTES,
    MAX_QUEUED_ACTIONS, MAX_QUEUED_BYTES, MAX_SPOOL_OUTPUT_BYTES, PUPPET_BIN, SPOOL_TTL,
    STOP_GRACE, TASK_CACHE_TTL,
};

/// Directories, programs and limits of the engine.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// Setting `spool-dir`: directory of the spool.
    pub spool_dir: PathBuf,
    /// `spool-dir-purge-ttl`; `None` keeps results forever.
    pub spool_ttl: Option<Duration>,
    /// Setting `task-cache-dir`: directory of cached task files.
    pub task_cache_dir: PathBuf,
    /// `task-cache-dir-purge-ttl`; `None` keeps files forever.
    pub task_cache_ttl: Option<Duration>,
    /// Setting `modules-dir`: directory of executables that are external modules.
    pub modules_dir: Option<PathBuf>,
    /// Setting `modules-config-dir`: directory of the modules' configuration files.
    pub modules_config_dir: Option<PathBuf>,
    /// Program and first arguments that lead to [`wrapper_main`](crate::wrapper_main); the path of
    /// the spool entry is appended.
    pub wrapper: Vec<OsString>,
    /// Servers, credentials and timeouts of task file downloads.
    pub downloads: DownloadConfig,
    /// Names of environment variables that are passed to actions besides the usual ones.
    pub pass_environment: Vec<String>,
    /// Setting `max-message-size`: largest message the agent sends, in bytes.
    pub max_message_bytes: usize,
    /// Maximum output carried in a result, per stream.
    pub max_output_bytes: u64,
    /// `max-spool-output-bytes`: maximum output kept on disk, per stream, in whole MiB. Output
    /// beyond it is counted and dropped.
    pub max_spool_output_bytes: u64,
    /// Maximum number of actions that run at once.
    pub max_concurrent_actions: usize,
    /// Maximum number of actions that wait for a free slot.
    pub max_queued_actions: usize,
    /// Maximum total size of the parameters of all waiting actions.
    pub max_queued_bytes: usize,
    /// Longest time an action may run; `None` sets no limit.
    pub action_timeout: Option<Duration>,
    /// Time between SIGTERM and SIGKILL.
    pub stop_grace: Duration,
    /// `facts-min-interval`: age up to which facts count as fresh.
    pub facts_min_interval: Duration,
    /// Directory that is searched for `puppet` and `facter` before the agent's `PATH`.
    pub facts_programs: PathBuf,
}

impl EngineConfig {
    /// A configuration with the default limits.
    pub fn new(spool_dir: PathBuf, task_cache_dir: PathBuf, wrapper: Vec<OsString>) -> Self {
        Self {
            spool_dir,
            spool_ttl: Some(SPOOL_TTL),
            task_cache_dir,
            task_cache_ttl: Some(TASK_CACHE_TTL),
            modules_dir: None,
            modules_config_dir: None,
            wrapper,
            downloads: DownloadConfig::default(),
            pass_environment: Vec::new(),
            max_message_bytes: MAX_MESSAGE_BYTES,
            max_output_bytes: MAX_OUTPUT_BYTES,
            max_spool_output_bytes: MAX_SPOOL_OUTPUT_BYTES,
            max_concurrent_actions: MAX_CONCURRENT_ACTIONS,
            max_queued_actions: MAX_QUEUED_ACTIONS,
            max_queued_bytes: MAX_QUEUED_BYTES,
            action_timeout: None,
            stop_grace: STOP_GRACE,
            facts_min_interval: FACTS_MIN_INTERVAL,
            facts_programs: PUPPET_BIN.into(),
        }
    }
}
