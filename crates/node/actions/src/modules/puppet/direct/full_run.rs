//! The last complete run of Puppet on this node: [`FullRun`].
//!
//! Invariant: a record is of a run that ended without a failure and applied all of its catalog.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use pxp::action::PuppetResult;
use serde::{Deserialize, Serialize};

/// A complete run of a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FullRun {
    /// SHA-256 of the catalog's document, as hexadecimal digits.
    pub(super) catalog_digest: String,
    pub(super) ended: Timestamp,
    /// Version of the Puppet that ran.
    pub(super) puppet_version: Option<String>,
}

impl FullRun {
    /// Path of the record; `settings_file` is in the same directory.
    pub(super) fn path(settings_file: &Path) -> PathBuf {
        settings_file.with_file_name(".puppet-full-run.json")
    }

    pub(super) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    /// Records a run. Without the record, the next run is complete, too.
    pub(super) fn write(&self, path: &Path) {
        let bytes = serde_json::to_vec(self).expect("texts");
        let _ = pki::durable::write_atomic(path, &bytes, 0o640);
    }

    /// Removes the record.
    pub(super) fn forget(path: &Path) {
        // A record that cannot be removed becomes invalid with the next catalog.
        let _ = std::fs::remove_file(path);
    }

    /// True if a run has a failure, or its end is not known.
    pub(super) fn has_failed(result: &PuppetResult) -> bool {
        result.error_type.is_some() || !matches!(result.detailed_exitcode, Some(0 | 2))
    }

    /// True if a run was complete: it has no failure, is no noop run, and got its catalog from the server.
    pub(super) fn is_complete(result: &PuppetResult) -> bool {
        let status = result.status.as_str();
        let source = result.cached_catalog_status.as_deref();
        !Self::has_failed(result)
            && matches!(status, "changed" | "unchanged")
            && result.noop != Some(true)
            && result.noop_pending != Some(true)
            && matches!(source, None | Some("not_used"))
    }

    /// The time since the run; `None` if the clock was set back since.
    pub(super) fn age(&self, now: Timestamp) -> Option<Duration> {
        now.duration_since(self.ended).try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_run_without_failures_is_complete() {
        let complete = PuppetResult {
            status: "changed".to_owned(),
            exitcode: 0,
            detailed_exitcode: Some(2),
            ..PuppetResult::unknown()
        };
        assert!(FullRun::is_complete(&complete));
        for change in [
            (|result: &mut PuppetResult| "failed".clone_into(&mut result.status))
                as fn(&mut PuppetResult),
            |result| result.noop = Some(true),
            |result| result.noop_pending = Some(true),
            |result| result.detailed_exitcode = Some(6),
            |result| result.detailed_exitcode = None,
            |result| result.cached_catalog_status = Some("on_failure".to_owned()),
        ] {
            let mut result = complete.clone();
            change(&mut result);
            assert!(!FullRun::is_complete(&result), "{result:?}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_gives_no_age() {
        let ended = Timestamp::from_second(1_000).unwrap();
        let run = FullRun {
            catalog_digest: "x".to_owned(),
            ended,
            puppet_version: None,
        };
        let at = |second| run.age(Timestamp::from_second(second).unwrap());
        assert_eq!(at(1_060), Some(Duration::from_secs(60)));
        assert_eq!(at(999), None);
        let dir = tempfile::tempdir().unwrap();
        let path = FullRun::path(&dir.path().join(".puppet-settings.json"));
        assert_eq!(FullRun::read(&path), None);
        run.write(&path);
        assert_eq!(FullRun::read(&path), Some(run));
        std::fs::write(&path, "{").unwrap();
        assert_eq!(FullRun::read(&path), None);
    }
}
