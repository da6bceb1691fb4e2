//! Default paths: those of pxp-agent, so that a node can change agents without moving files.
//!
//! Invariant: root uses the system's directories, any other user only the own home directory.

use std::path::{Path, PathBuf};

/// The default paths for one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultPaths {
    /// Path of the configuration file `pxp-agent.conf`.
    pub config_file: PathBuf,
    /// Path of the log file.
    pub logfile: PathBuf,
    /// Path of the PCP access log.
    pub pcp_access_logfile: PathBuf,
    /// Path of the PID file.
    pub pidfile: PathBuf,
    /// Directory of external modules.
    pub modules_dir: PathBuf,
    /// Directory of the external modules' configuration.
    pub modules_config_dir: PathBuf,
    /// Directory of results (the spool).
    pub spool_dir: PathBuf,
    /// Directory of downloaded task files.
    pub task_cache_dir: PathBuf,
    /// Puppet's `ssldir`, with certificates and keys.
    pub ssl_dir: PathBuf,
}

// === impl DefaultPaths ===

impl DefaultPaths {
    /// The paths for the user that this process runs as.
    pub fn for_this_user() -> Self {
        if rustix::process::geteuid().is_root() {
            return Self::system();
        }
        let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
        Self::below_home(&home)
    }

    /// The paths of a system service.
    pub fn system() -> Self {
        let log = Path::new("/var/log/puppetlabs/pxp-agent");
        let opt = Path::new("/opt/puppetlabs/pxp-agent");
        let etc = Path::new("/etc/puppetlabs/pxp-agent");
        Self {
            config_file: etc.join("pxp-agent.conf"),
            logfile: log.join("pxp-agent.log"),
            pcp_access_logfile: log.join("pcp-access.log"),
            pidfile: "/var/run/puppetlabs/pxp-agent.pid".into(),
            modules_dir: opt.join("modules"),
            modules_config_dir: etc.join("modules"),
            spool_dir: opt.join("spool"),
            task_cache_dir: opt.join("tasks-cache"),
            ssl_dir: "/etc/puppetlabs/puppet/ssl".into(),
        }
    }

    /// The paths of a user other than root.
    pub fn below_home(home: &Path) -> Self {
        let base = home.join(".puppetlabs");
        let opt = base.join("opt/pxp-agent");
        let etc = base.join("etc/pxp-agent");
        Self {
            config_file: etc.join("pxp-agent.conf"),
            logfile: base.join("var/log/pxp-agent.log"),
            pcp_access_logfile: base.join("var/log/pcp-access.log"),
            pidfile: base.join("var/run/pxp-agent.pid"),
            modules_dir: opt.join("modules"),
            modules_config_dir: etc.join("modules"),
            spool_dir: opt.join("spool"),
            task_cache_dir: opt.join("tasks-cache"),
            ssl_dir: base.join("etc/puppet/ssl"),
        }
    }
}
