//! Locks that keep Puppet from running: that of a run in progress ([`read_lock_holder`]), and that
//! of an administrator who disabled runs ([`read_disabled_message`]).
//!
//! Invariant: a lock whose process is gone, or is not Puppet, is stale; `puppet agent` removes it
//! itself.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::defaults::{LOCK_FILE_BYTES, REASON_CHARS};
use crate::process::ProcessStat;

/// The other run, or the lease, that this run waits for, as stored in the spool entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WaitingFor {
    /// Process id of the other run, or of the lease holder.
    pub(crate) pid: u32,
    pub(crate) since: Timestamp,
    /// The lease in words, such as `the lease of job 12 (reason)`; `None` for another run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lease: Option<String>,
}

impl WaitingFor {
    const FILE: &'static str = "waiting.json";
    const TEMPORARY: &'static str = "waiting.json.tmp";

    /// The run that an action waits for now.
    pub(crate) fn read(entry: &Path) -> Option<Self> {
        serde_json::from_slice(&read_small(&entry.join(Self::FILE))?).ok()
    }

    pub(super) fn write(&self, entry: &Path) {
        let bytes = serde_json::to_vec(self).expect("a number and a time");
        let temporary = entry.join(Self::TEMPORARY);
        // A concurrent reader sees it whole or not at all. Informational only; nothing depends on
        // it.
        let _ = std::fs::write(&temporary, bytes)
            .and_then(|()| std::fs::rename(&temporary, entry.join(Self::FILE)));
    }

    pub(super) fn clear(entry: &Path) {
        let _ = std::fs::remove_file(entry.join(Self::FILE));
    }
}

impl std::fmt::Display for WaitingFor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { pid, since, lease } = self;
        match lease {
            Some(lease) => write!(f, "waits since {since:.0} for the end of {lease}"),
            None => write!(
                f,
                "waits since {since:.0} for another run of Puppet (process {pid})"
            ),
        }
    }
}

/// The process id of the run in progress.
pub(super) fn read_lock_holder(lock: &Path) -> Option<u32> {
    let text = read_small(lock)?;
    let pid: u32 = std::str::from_utf8(&text).ok()?.trim().parse().ok()?;
    is_puppet(pid).then_some(pid)
}

/// Applies Puppet's own rule, so that a lock is stale for both or for neither: a Ruby process with
/// `puppet` among its arguments, or a program of that name. A process that has ended and is not yet reaped is none.
fn is_puppet(pid: u32) -> bool {
    let stat = i32::try_from(pid).ok().and_then(ProcessStat::read);
    if stat.is_none_or(|stat| stat.state == 'Z') {
        return false;
    }
    let read = |what: &str| std::fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
    let name = read("comm");
    let name = String::from_utf8_lossy(&name);
    let name = name.trim_end();
    name.ends_with("puppet")
        || name.contains("puppet-")
        || (name.contains("ruby") && String::from_utf8_lossy(&read("cmdline")).contains("puppet"))
}

/// The reason for which runs are disabled; an empty text if none was given.
pub(super) fn read_disabled_message(lock: &Path) -> Option<String> {
    let text = read_small(lock)?;
    let reason = serde_json::from_slice::<serde_json::Value>(&text).ok();
    let reason = reason.and_then(|it| Some(it.get("disabled_message")?.as_str()?.to_owned()));
    Some(shown(&reason.unwrap_or_default()))
}

/// A reason as one short line without control characters; it may come from any program.
fn shown(reason: &str) -> String {
    let line = reason
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it });
    line.take(REASON_CHARS).collect()
}

/// Reads a small file without ever blocking: the path may be a pipe, made by a user who may write
/// to its directory.
pub(super) fn read_small(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking)
        .open(path)
        .ok()?;
    file.take(LOCK_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::BufRead as _;

    use super::*;

    #[test]
    fn a_stale_lock_holds_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("lock");
        assert_eq!(read_lock_holder(&lock), None);
        for text in ["", "x", "0", "4294967295", "-1", "99999999999"] {
            std::fs::write(&lock, text).unwrap();
            assert_eq!(read_lock_holder(&lock), None, "{text:?}");
        }
        // Alive, but not Puppet, although its arguments mention Puppet.
        let mut other = std::process::Command::new("/bin/sh")
            .args(["-c", "echo ready; read line", "puppet agent"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // Until the shell is executed, the process has the name of this test's thread, which ends
        // with `puppet`.
        let said = other.stdout.take().unwrap();
        std::io::BufReader::new(said)
            .read_line(&mut String::new())
            .unwrap();
        std::fs::write(&lock, other.id().to_string()).unwrap();
        let held = read_lock_holder(&lock);
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(held, None);
    }

    #[test]
    fn a_living_puppet_holds_its_lock() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("lock");
        let program = dir.path().join("puppet-run");
        std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
        let mut puppet = std::process::Command::new(program)
            .args(["-c", "read line"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::fs::write(&lock, format!("{}\n", puppet.id())).unwrap();
        assert_eq!(read_lock_holder(&lock), Some(puppet.id()));
        puppet.kill().unwrap();
        puppet.wait().unwrap();
        assert_eq!(read_lock_holder(&lock), None);
    }

    #[test]
    fn the_reason_of_a_disabled_agent_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("lock");
        assert_eq!(read_disabled_message(&lock), None);
        for (text, reason) in [
            (r#"{"disabled_message":"moving day"}"#, "moving day"),
            ("{}", ""),
            ("", ""),
            ("[1]", ""),
            (r#"{"disabled_message":7}"#, ""),
            (r#"{"disabled_message":"a\u001b[2J\nb"}"#, "a [2J b"),
        ] {
            std::fs::write(&lock, text).unwrap();
            assert_eq!(
                read_disabled_message(&lock).as_deref(),
                Some(reason),
                "{text}"
            );
        }
    }
}
