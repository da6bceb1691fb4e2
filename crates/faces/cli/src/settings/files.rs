//! Configuration files of Puppet's client tools. Main types: [`ConfigDirectories`], [`ConfigFileKeys`].
//!
//! Invariant: a file named on the command line replaces all others and must exist; otherwise each
//! key of the user's file overrides that of the machine's file.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Result;
use crate::input::{parse_json, read_if_exists, read_limited};

/// The tool whose files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigTool {
    /// `orchestrator.conf`.
    Orchestrator,
    /// `puppet-access.conf`, and `orchestrator.conf` for missing keys.
    Access,
}

/// Directories of configuration files.
#[derive(Debug)]
pub(super) struct ConfigDirectories {
    pub(super) home: PathBuf,
    pub(super) machine: PathBuf,
}

/// `orchestrator.conf` has its keys below `options`, `puppet-access.conf` at the top level; keys of
/// other tools are ignored.
#[derive(Debug, Default, Deserialize)]
struct ConfigFile {
    options: Option<ConfigFileKeys>,
    #[serde(flatten)]
    top: ConfigFileKeys,
}

/// The keys of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct ConfigFileKeys {
    pub(super) service_url: Option<String>,
    #[serde(alias = "certificate-file")]
    pub(super) cacert: Option<PathBuf>,
    pub(super) token_file: Option<PathBuf>,
    pub(super) environment: Option<String>,
    pub(super) noop: Option<bool>,
    pub(super) color: Option<bool>,
}

/// Directory of the machine's files.
const MACHINE: &str = "/etc/puppetlabs/client-tools";
/// Directory of the user's files, relative to the home directory.
pub(super) const USER: &str = ".puppetlabs/client-tools";
const ORCHESTRATOR_FILE: &str = "orchestrator.conf";
const ACCESS_FILE: &str = "puppet-access.conf";

// === impl ConfigDirectories ===

impl ConfigDirectories {
    /// The directories of this user and this machine.
    pub(super) fn of_this_machine() -> Self {
        Self {
            home: std::env::home_dir().unwrap_or_default(),
            machine: MACHINE.into(),
        }
    }

    /// All files of `tool` combined, or only the named one.
    pub(super) fn combined_options(
        &self,
        tool: ConfigTool,
        named: Option<&Path>,
    ) -> Result<ConfigFileKeys> {
        if let Some(path) = named {
            return parse(path, &read_limited(path)?);
        }
        let names: &[&str] = match tool {
            ConfigTool::Orchestrator => &[ORCHESTRATOR_FILE],
            ConfigTool::Access => &[ACCESS_FILE, ORCHESTRATOR_FILE],
        };
        let mut all = ConfigFileKeys::default();
        for path in names.iter().flat_map(|name| self.config_paths(name)) {
            all = all.with_fallback(read(&path)?);
        }
        Ok(all)
    }

    /// The text of the user's file `name`, or of the machine's.
    pub(super) fn text(&self, name: &str) -> Result<Option<(PathBuf, String)>> {
        for path in self.config_paths(name) {
            if let Some(text) = read_if_exists(&path)? {
                return Ok(Some((path, text)));
            }
        }
        Ok(None)
    }

    /// The paths of the user's file and the machine's.
    fn config_paths(&self, name: &str) -> [PathBuf; 2] {
        [self.home.join(USER).join(name), self.machine.join(name)]
    }
}

// === impl ConfigFileKeys ===

impl ConfigFileKeys {
    fn with_fallback(self, other: Self) -> Self {
        Self {
            service_url: self.service_url.or(other.service_url),
            cacert: self.cacert.or(other.cacert),
            token_file: self.token_file.or(other.token_file),
            environment: self.environment.or(other.environment),
            noop: self.noop.or(other.noop),
            color: self.color.or(other.color),
        }
    }
}

fn read(path: &Path) -> Result<ConfigFileKeys> {
    match read_if_exists(path)? {
        Some(text) => parse(path, &text),
        None => Ok(ConfigFileKeys::default()),
    }
}

fn parse(path: &Path, text: &str) -> Result<ConfigFileKeys> {
    let file: ConfigFile = parse_json(path.display(), text)?;
    Ok(file.options.unwrap_or_default().with_fallback(file.top))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_file_is_named_with_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("orchestrator.conf");
        std::fs::write(&path, "{\n \"options\": 3}").unwrap();
        let said = read(&path).unwrap_err().to_string();
        assert!(
            said.contains("orchestrator.conf") && said.contains("line 2"),
            "{said}"
        );
        assert!(
            said.contains("must be an object, not the number 3"),
            "{said}"
        );
    }
}
