//! The files of Puppet's client tools: where they are and what they say. Main types: [`Places`],
//! [`Options`].
//!
//! The rule: a file that was named replaces all others and must be there; of the others the user's
//! beats the machine's, key by key.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Failure;
use crate::input::{read_if_there, read_limited};

/// Whose files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// `orchestrator.conf`.
    Orchestrator,
    /// `puppet-access.conf`, and `orchestrator.conf` for what is not there.
    Access,
}

/// Where files are.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) home: PathBuf,
    pub(super) machine: PathBuf,
}

/// `orchestrator.conf` has its keys below `options`, `puppet-access.conf` has them at the top; keys of
/// other tools are none of our business and ignored.
#[derive(Debug, Default, Deserialize)]
struct File {
    options: Option<Options>,
    #[serde(flatten)]
    top: Options,
}

/// What a file says.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Options {
    pub(super) service_url: Option<String>,
    #[serde(alias = "certificate-file")]
    pub(super) cacert: Option<PathBuf>,
    pub(super) token_file: Option<PathBuf>,
    pub(super) environment: Option<String>,
    pub(super) noop: Option<bool>,
    pub(super) color: Option<bool>,
}

/// Where the files of the machine are.
const MACHINE: &str = "/etc/puppetlabs/client-tools";
/// Where the user's are, below the home directory.
pub(super) const USER: &str = ".puppetlabs/client-tools";
const ORCHESTRATOR_FILE: &str = "orchestrator.conf";
const ACCESS_FILE: &str = "puppet-access.conf";

// === impl Places ===

impl Places {
    /// This user's and this machine's.
    pub(super) fn here() -> Self {
        Self {
            home: std::env::home_dir().unwrap_or_default(),
            machine: MACHINE.into(),
        }
    }

    /// All files of `tool` as one, or the one that was named.
    pub(super) fn options(&self, tool: Tool, named: Option<&Path>) -> Result<Options, Failure> {
        if let Some(path) = named {
            return parse(path, &read_limited(path)?);
        }
        let names: &[&str] = match tool {
            Tool::Orchestrator => &[ORCHESTRATOR_FILE],
            Tool::Access => &[ACCESS_FILE, ORCHESTRATOR_FILE],
        };
        let mut all = Options::default();
        for path in names.iter().flat_map(|name| self.of(name)) {
            all = all.or(read(&path)?);
        }
        Ok(all)
    }

    /// The text of the user's file `name`, or of the machine's.
    pub(super) fn text(&self, name: &str) -> Result<Option<(PathBuf, String)>, Failure> {
        for path in self.of(name) {
            if let Some(text) = read_if_there(&path)? {
                return Ok(Some((path, text)));
            }
        }
        Ok(None)
    }

    /// The user's file, then the machine's.
    fn of(&self, name: &str) -> [PathBuf; 2] {
        [self.home.join(USER).join(name), self.machine.join(name)]
    }
}

// === impl Options ===

impl Options {
    fn or(self, other: Self) -> Self {
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

fn read(path: &Path) -> Result<Options, Failure> {
    match read_if_there(path)? {
        Some(text) => parse(path, &text),
        None => Ok(Options::default()),
    }
}

fn parse(path: &Path, text: &str) -> Result<Options, Failure> {
    decode_errors::json::from_str::<File>(text)
        .map(|file| file.options.unwrap_or_default().or(file.top))
        .map_err(|error| Failure::Content {
            place: path.display().to_string(),
            what: error.to_string(),
        })
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
