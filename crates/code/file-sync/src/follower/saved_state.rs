//! State that a follower keeps across restarts: [`SavedFollowerState`], the file `follower.json`.
//!
//! Administrators and monitoring read it, too. Invariant: if it is missing or damaged, the next
//! check-in restores it.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use environments::EnvironmentName;
use serde::{Deserialize, Serialize};

use code_store::version::VersionSignature;

/// File name in the follower's directory.
const STATE_FILE: &str = "follower.json";

/// Readable by all users, for monitoring.
const MODE: u32 = 0o644;

/// Contents of `follower.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedFollowerState {
    #[serde(default)]
    pub(super) server: String,
    /// Time of the last answer of the server, in milliseconds since 1970; `None` if there was none.
    #[serde(default)]
    pub(super) heard_ms: Option<i64>,
    #[serde(default)]
    lease_s: u64,
    /// True if the lease has expired since then.
    #[serde(default)]
    pub(super) is_stale: bool,
    /// Last known state of each environment.
    #[serde(default, rename = "environments")]
    pub(super) live: BTreeMap<String, SavedEnvironment>,
    /// The last number of a forced check of all environments that was followed; kept in memory
    /// only.
    #[serde(skip)]
    pub(super) forced: Option<u64>,
}

/// The live version of an environment, and the generation of its last switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedEnvironment {
    pub(super) generation: i64,
    pub(super) version: Option<String>,
}

// === impl SavedFollowerState ===

impl SavedFollowerState {
    pub(super) fn read(directory: &Path) -> Self {
        let text = std::fs::read(directory.join(STATE_FILE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        let mode = std::fs::Permissions::from_mode(MODE);
        file.as_file().set_permissions(mode)?;
        serde_json::to_writer_pretty(&mut file, self)?;
        file.write_all(b"\n")?;
        file.persist(directory.join(STATE_FILE))?;
        Ok(())
    }

    /// Generation of the switch that made a version live; 0 if it is unknown.
    pub(super) fn generation(&self, environment: &EnvironmentName, live: &VersionSignature) -> i64 {
        let known = self.live.get(environment.as_str());
        let known = known.filter(|known| known.version.as_deref() == Some(live.as_str()));
        known.map_or(0, |known| known.generation)
    }

    pub(super) fn record_contact(&mut self, now_ms: i64, lease_s: u64) {
        self.heard_ms = Some(now_ms);
        self.lease_s = lease_s;
        self.is_stale = false;
    }

    /// The rest of the lease; `None` if the server never answered.
    pub(super) fn lease_left(&self, now_ms: i64) -> Option<Duration> {
        let silent_ms = now_ms.saturating_sub(self.heard_ms?);
        let silent = Duration::from_millis(u64::try_from(silent_ms).unwrap_or_default());
        Some(Duration::from_secs(self.lease_s).saturating_sub(silent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_back_and_a_damaged_one_is_none() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(
            SavedFollowerState::read(directory.path()),
            SavedFollowerState::default()
        );
        let mut kept = SavedFollowerState::default();
        kept.record_contact(1_000, 60);
        let signature: VersionSignature = "a".repeat(40).parse().unwrap();
        let live = SavedEnvironment {
            generation: 7,
            version: Some(signature.to_string()),
        };
        kept.live.insert("production".to_owned(), live);
        kept.write(directory.path()).unwrap();
        let read = SavedFollowerState::read(directory.path());
        assert_eq!(read, kept);
        let production = "production".parse().unwrap();
        assert_eq!(read.generation(&production, &signature), 7);
        let other = "b".repeat(40).parse().unwrap();
        assert_eq!(read.generation(&production, &other), 0);
        assert_eq!(read.lease_left(21_000), Some(Duration::from_secs(40)));
        assert_eq!(read.lease_left(99_000), Some(Duration::ZERO));
        std::fs::write(directory.path().join(STATE_FILE), "{").unwrap();
        assert_eq!(
            SavedFollowerState::read(directory.path()),
            SavedFollowerState::default()
        );
    }
}
