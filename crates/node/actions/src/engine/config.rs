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

/// Where the engine works and how much it takes on.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// `spool-dir`.
    pub spool_dir: PathBuf,
    /// `spool-dir-purge-ttl`; `None` keeps results for ever.
    pub spool_ttl: Option<Duration>,
    /// `task-cache-dir`.
    pub task_cache_dir: PathBuf,
    /// `task-cache-dir-purge-ttl`; `None` keeps files for ever.
    pub task_cache_ttl: Option<Duration>,
    /// `modules-dir`: executables that are modules.
    pub modules_dir: Option<PathBuf>,
    /// `modules-config-dir`.
    pub modules_config_dir: Option<PathBuf>,
    /// Program and arguments that end in [`wrapper_main`](crate::wrapper_main);
    /// the spool entry is added.
    pub wrapper: Vec<OsString>,
    /// Where task files come from.
    pub downloads: DownloadConfig,
    /// Names of environment variables that actions see besides the usual ones.
    pub pass_environment: Vec<String>,
    /// `max-message-size`.
    pub max_message_bytes: usize,
    /// Output carried in a result, per stream.
    pub max_output_bytes: u64,
    /// `max-spool-output-bytes`: output kept on the disk, per stream, in whole
    /// MiB. What an action writes beyond it is counted and dropped.
    pub max_spool_output_bytes: u64,
    /// Actions that run at once.
    pub max_concurrent_actions: usize,
    /// Actions that wait for a place.
    pub max_queued_actions: usize,
    /// Parameters of all waiting actions together.
    pub max_queued_bytes: usize,
    /// Longest time an action may run.
    pub action_timeout: Option<Duration>,
    /// From SIGTERM to SIGKILL.
    pub stop_grace: Duration,
    /// `facts-min-interval`: how long facts count as fresh.
    pub facts_min_interval: Duration,
    /// Directory that is searched for `puppet` and `facter` before the agent's `PATH`.
    pub facts_programs: PathBuf,
}

impl EngineConfig {
    /// The usual limits.
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
