//! Identity of a process: a pid alone is reused, so [`ProcessIdentity`] adds the start time and the
//! boot. Invariant: a signal is only sent through a pidfd whose process was compared after opening.

use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// One process, never confused with a later one of the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProcessIdentity {
    /// Process id in the agent's pid namespace.
    pub(crate) pid: i32,
    /// Start time in clock ticks since boot, field 22 of `/proc/<pid>/stat`.
    pub(crate) start_ticks: u64,
    /// Id of the boot, from `/proc/sys/kernel/random/boot_id`.
    pub(crate) boot_id: String,
}

impl ProcessIdentity {
    /// The identity of the calling process.
    pub(crate) fn current() -> std::io::Result<Self> {
        let pid = rustix::process::getpid();
        let start_ticks = ProcessStat::read(pid.as_raw_pid())
            .ok_or_else(|| std::io::Error::other("cannot read /proc/self/stat; is /proc mounted?"))?
            .start_ticks;
        Ok(Self {
            pid: pid.as_raw_pid(),
            start_ticks,
            boot_id: boot_id()?,
        })
    }

    /// A pidfd of the process; `None` if the process is gone, even if its pid was reused.
    pub(crate) fn open(&self) -> Option<OwnedFd> {
        if boot_id().ok()? != self.boot_id {
            return None;
        }
        open_same(self.pid, self.start_ticks)
    }

    /// Sends a signal; false when the process is gone.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        self.open()
            .is_some_and(|pidfd| pidfd_send_signal(pidfd, signal).is_ok())
    }
}

/// Opens `pid` if it is still the process that started at `start_ticks`.
pub(crate) fn open_same(pid: i32, start_ticks: u64) -> Option<OwnedFd> {
    let pidfd = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::NONBLOCK).ok()?;
    let stat = ProcessStat::read(pid)?;
    (stat.start_ticks == start_ticks && stat.state != 'Z').then_some(pidfd)
}

/// The id of this boot of the kernel.
pub(crate) fn boot_id() -> std::io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?
        .trim()
        .to_owned())
}

/// The required fields of `/proc/<pid>/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub(crate) state: char,
    pub(crate) parent: i32,
    pub(crate) start_ticks: u64,
}

impl ProcessStat {
    pub(crate) fn read(pid: i32) -> Option<Self> {
        Self::parse(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses the file. The command name (field 2) may hold blanks and parentheses, so the fields
    /// are counted from the last `)`.
    fn parse(stat: &[u8]) -> Option<Self> {
        let after = stat.iter().rposition(|b| *b == b')')? + 1;
        let mut fields = std::str::from_utf8(&stat[after..])
            .ok()?
            .split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let start_ticks = fields.nth(17)?.parse().ok()?;
        Some(Self {
            state,
            parent,
            start_ticks,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_behind_a_hostile_command_name() {
        let line =
            b"77 (a) S 1 (b) R 42 77 77 0 -1 4194304 1 0 0 0 3 4 0 0 20 0 1 0 987654 1000 2 3";
        assert_eq!(
            ProcessStat::parse(line),
            Some(ProcessStat {
                state: 'R',
                parent: 42,
                start_ticks: 987_654
            })
        );
        assert_eq!(ProcessStat::parse(b"77 no parenthesis"), None);
        assert_eq!(ProcessStat::parse(b"77 (x) R 42"), None);
    }

    #[test]
    fn the_current_process_is_alive_and_a_namesake_is_not() {
        let me = ProcessIdentity::current().unwrap();
        assert!(me.open().is_some());
        let earlier = ProcessIdentity {
            start_ticks: me.start_ticks - 1,
            ..me.clone()
        };
        assert!(earlier.open().is_none(), "same pid, other start");
        let before_reboot = ProcessIdentity {
            boot_id: "another".into(),
            ..me
        };
        assert!(
            before_reboot.open().is_none(),
            "same pid and ticks, other boot"
        );
    }
}
