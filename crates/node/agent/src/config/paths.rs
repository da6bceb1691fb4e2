//! Where things are when nobody says: pxp-agent's places, so that a node can
//! change agents without moving files.
//!
//! The rule that must hold: root uses the system's directories, anybody else
//! their own home and nothing outside of it.

use std::path::{Path, PathBuf};

/// The default places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultPaths {
    /// `pxp-agent.conf`.
    pub config_file: PathBuf,
    /// Log file.
    pub logfile: PathBuf,
    /// PCP access log.
    pub pcp_access_logfile: PathBuf,
    /// PID file.
    pub pidfile: PathBuf,
    /// External modules.
    pub modules_dir: PathBuf,
    /// Their configuration.
    pub modules_config_dir: PathBuf,
    /// Results.
    pub spool_dir: PathBuf,
    /// Downloaded task files.
    pub task_cache_dir: PathBuf,
    /// Puppet's `ssldir`.
    pub ssl_dir: PathBuf,
}

// === impl DefaultPaths ===

impl DefaultPaths {
    /// The places for the user this process runs as.
    pub fn for_this_user() -> Self {
        if rustix::process::geteuid().is_root() {
            return Self::system();
        }
        let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
        Self::below_home(&home)
    }

    /// The places of a system service.
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

    /// The places of somebody who is not root.
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
