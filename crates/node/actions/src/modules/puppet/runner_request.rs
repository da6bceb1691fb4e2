//! The agent's order to the runner: [`RunnerRequest`], passed on its stdin.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::leases::NodeLeases;

/// A checked request.
#[derive(Debug)]
pub(crate) struct PuppetInput {
    /// Arguments after `puppet agent`.
    pub(crate) flags: Vec<String>,
    /// Requests to repeat the run are for the result.
    pub(crate) reports_reruns: bool,
    /// The lease that the run names.
    pub(crate) lease: Option<Uuid>,
}

/// Order for one Puppet run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunnerRequest {
    pub(super) flags: Vec<String>,
    /// Path of `pxp-module-puppet.conf`.
    pub(super) config_file: Option<PathBuf>,
    /// Path of the file that stores Puppet's settings between runs.
    pub(super) settings_file: PathBuf,
    /// Requests to repeat the run are for the result. An agent whose program was just replaced by a newer one does not
    /// give it.
    #[serde(default)]
    pub(super) reports_reruns: bool,
    /// The lease that the run names.
    #[serde(default)]
    pub(super) lease: Option<Uuid>,
}

/// Name of the module's configuration file.
pub(super) const CONFIG_FILE: &str = "pxp-module-puppet.conf";

/// Content of `pxp-module-puppet.conf`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PuppetModuleConfig {
    pub(super) puppet_bin: Option<PathBuf>,
    /// Maximum wait for a run in progress, in seconds.
    pub(super) lock_wait_s: Option<u64>,
    pub(super) files: FileChecks,
    /// With native checks of files: longest time between two runs of Puppet, in seconds.
    pub(super) full_run_interval_s: Option<u64>,
}

/// Who looks whether files are as the catalog says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FileChecks {
    /// Puppet, in each run.
    #[default]
    Puppet,
    /// The agent itself, which starts Puppet only if it has work.
    Native,
}

/// The path of the file that stores Puppet's settings. A name that begins with a dot is never the name of a transaction.
pub(super) fn settings_file(spool: &Path) -> PathBuf {
    spool.join(".puppet-settings.json")
}

impl RunnerRequest {
    /// The leases of the node, which are in the directory of the stored settings, the spool.
    pub(super) fn leases(&self) -> NodeLeases {
        let spool = self.settings_file.parent();
        NodeLeases::below(spool.unwrap_or(Path::new("/")))
    }
}

impl PuppetInput {
    /// The order as bytes for the runner's stdin.
    pub(crate) fn render(self, config_directory: Option<&Path>, spool: &Path) -> Vec<u8> {
        let order = RunnerRequest {
            flags: self.flags,
            config_file: config_directory.map(|dir| dir.join(CONFIG_FILE)),
            settings_file: settings_file(spool),
            reports_reruns: self.reports_reruns,
            lease: self.lease,
        };
        serde_json::to_vec(&order).expect("an order holds only texts")
    }
}

impl PuppetModuleConfig {
    /// Reads the file; a missing one gives an empty configuration.
    pub(super) fn read(path: Option<&Path>) -> Result<Self, String> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let at = |what: String| {
            format!(
                "{}: {what}; it holds one JSON object with \
                 \"puppet_bin\" (a path), \"lock_wait_s\" (seconds), \"files\" (\"puppet\" or \"native\") and \
                 \"full_run_interval_s\" (seconds), all optional",
                path.display()
            )
        };
        match std::fs::read(path) {
            Ok(bytes) => {
                decode_errors::json::from_slice(&bytes).map_err(|error| at(error.to_string()))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(at(error.to_string())),
        }
    }
}
