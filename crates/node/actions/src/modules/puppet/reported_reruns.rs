//! Requests of a run to be repeated that are for the orchestrator: [`variable`] tells Puppet the file for them,
//! [`read`] reads it.
//!
//! The module `common` adds a line to the file for each request
//! (`modules/common/lib/puppet_x/common/again/requester.rb`), and starts nothing. Invariant: a damaged file gives the
//! requests that can be read, since the run itself is not wrong.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use pxp::action::PuppetRerun;

use crate::defaults::{REPORTED_RERUNS, REPORTED_RERUNS_BYTES};

/// The variable that names the file.
const VARIABLE: &str = "TUTTI_RERUN_REQUESTS";

/// The file for the requests of the run of a spool entry.
fn path(entry: &Path) -> PathBuf {
    entry.join("reruns.jsonl")
}

/// The variable for Puppet's environment.
pub(super) fn variable(entry: &Path) -> (String, String) {
    let path = path(entry).to_string_lossy().into_owned();
    (VARIABLE.to_owned(), path)
}

/// The requests by key, of each key the last one. If there are too many, those with the longest pauses are kept.
pub(super) fn read(entry: &Path) -> Vec<PuppetRerun> {
    let mut bytes = Vec::new();
    let read = File::open(path(entry))
        .and_then(|file| file.take(REPORTED_RERUNS_BYTES).read_to_end(&mut bytes));
    if read.is_err() {
        // A run that requests nothing leaves no file.
        return Vec::new();
    }
    let mut requests: BTreeMap<String, PuppetRerun> = BTreeMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Ok(request) = serde_json::from_slice::<PuppetRerun>(line) {
            requests.insert(request.key.clone(), request);
        }
    }
    let mut requests: Vec<PuppetRerun> = requests.into_values().collect();
    requests.sort_by(|one, next| next.delta_s.total_cmp(&one.delta_s));
    requests.truncate(REPORTED_RERUNS);
    requests.sort_by(|one, next| one.key.cmp(&next.key));
    requests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_request_of_each_key_counts_and_damage_is_left_out() {
        let entry = tempfile::tempdir().unwrap();
        assert_eq!(read(entry.path()), []);
        let (_, file) = variable(entry.path());
        let lines = [
            r#"{"key":"again","delta_s":0}"#,
            r#"{"key":"peers","delta_s":120}"#,
            "{\"key\":",
            r#"{"key":"again","delta_s":2.5}"#,
            "[]",
        ];
        std::fs::write(&file, lines.join("\n")).unwrap();
        let rerun = |key: &str, delta_s| PuppetRerun {
            key: key.to_owned(),
            delta_s,
        };
        assert_eq!(
            read(entry.path()),
            [rerun("again", 2.5), rerun("peers", 120.0)]
        );
    }

    #[test]
    fn a_file_of_any_size_gives_a_bounded_number_of_requests() {
        let entry = tempfile::tempdir().unwrap();
        let (_, file) = variable(entry.path());
        let lines = (0..100_000).map(|key| format!("{{\"key\":\"{key}\",\"delta_s\":1}}\n"));
        std::fs::write(&file, lines.collect::<String>()).unwrap();
        assert_eq!(read(entry.path()).len(), REPORTED_RERUNS);
        let lines = (0..70).map(|key| format!("{{\"key\":\"{key}\",\"delta_s\":{key}}}\n"));
        let lines: String = lines.collect();
        std::fs::write(&file, lines).unwrap();
        let longest = read(entry.path());
        assert!(longest.iter().any(|it| it.key == "69"));
        assert!(!longest.iter().any(|it| it.key == "3"));
    }
}
