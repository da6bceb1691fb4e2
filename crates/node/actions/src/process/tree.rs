//! All processes below one process. Main function: [`signal_descendants`].
//!
//! The caller is a subreaper, so a process that leaves its session, its group and its parent is
//! still below it. Invariant: a signal is sent to a process only after its start time was compared
//! on an open pidfd.

use std::collections::{HashMap, HashSet};

use rustix::process::{Signal, pidfd_send_signal};

use super::identity::{ProcessStat, open_same};
use crate::defaults::MAX_STOP_ROUNDS;

/// Sends `signal` to everything below `root`, but not to `root`.
pub(crate) fn signal_descendants(root: i32, signal: Signal) {
    for process in descendants(root) {
        process.signal(signal);
    }
}

/// Ends all processes below `root` at once. The tree is stopped first, round by round until no new
/// process appears, so that it cannot outrun the signals by forking; a stopped process still dies
/// of SIGKILL. Processes that cannot be signalled may go on forking, so the rounds are limited; the
/// caller calls again.
pub(crate) fn kill_descendants(root: i32) {
    let mut stopped = HashSet::new();
    for _ in 0..MAX_STOP_ROUNDS {
        let mut news = false;
        for process in descendants(root) {
            if stopped.insert((process.pid, process.start_ticks)) {
                news = true;
                process.signal(Signal::STOP);
            }
        }
        if !news {
            break;
        }
    }
    signal_descendants(root, Signal::KILL);
}

/// Number of processes below `root`. Zombies do not count: they hold nothing and run nothing.
pub(crate) fn count_descendants(root: i32) -> usize {
    descendants(root).len()
}

#[derive(Debug)]
struct DescendantProcess {
    pid: i32,
    start_ticks: u64,
}

impl DescendantProcess {
    fn signal(&self, signal: Signal) {
        if let Some(pidfd) = open_same(self.pid, self.start_ticks) {
            // It fails if the process has ended meanwhile, as intended.
            let _ = pidfd_send_signal(pidfd, signal);
        }
    }
}

fn descendants(root: i32) -> Vec<DescendantProcess> {
    let mut children: HashMap<i32, Vec<(i32, ProcessStat)>> = HashMap::new();
    for (pid, stat) in processes() {
        children.entry(stat.parent).or_default().push((pid, stat));
    }
    let mut found = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for (pid, stat) in children.remove(&parent).unwrap_or_default() {
            parents.push(pid);
            if stat.state != 'Z' {
                found.push(DescendantProcess {
                    pid,
                    start_ticks: stat.start_ticks,
                });
            }
        }
    }
    found
}

fn processes() -> impl Iterator<Item = (i32, ProcessStat)> {
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| Some((pid, ProcessStat::read(pid)?)))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn grandchildren_are_found_and_ended() {
        let mut child = Command::new("/bin/sh")
            .args(["-c", "sleep 1000 & wait"])
            .spawn()
            .unwrap();
        let root = i32::try_from(child.id()).unwrap();
        while count_descendants(root) == 0 {
            std::thread::yield_now();
        }
        kill_descendants(root);
        child.wait().unwrap();
        assert_eq!(count_descendants(root), 0);
    }
}
