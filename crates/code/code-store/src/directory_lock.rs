//! Lock on the directory of deployments, so that one process at a time writes to it:
//! [`DirectoryLock`].
//!
//! It is a lock on the file `lock`, which identifies its holder. Programs that write there for this
//! process (`git fetch`) get the locked file as standard input, and so keep the lock if this
//! process is killed. Invariant: only the process with the lock writes; programs of a killed
//! process are ended, since their results are not needed.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::SystemTime;

use rustix::fs::FlockOperation;
use rustix::process::{Pid, Signal};

use crate::content::{ContentError, content_error, create_directory};
use crate::defaults::LOCK_LOOK;

/// The lock, held until the last clone is dropped. Cheap to clone.
#[derive(Clone, Debug)]
pub struct DirectoryLock {
    file: Arc<File>,
}

/// The process that has the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryLockHolder {
    /// Process id of the holder.
    pub pid: u32,
    /// Time at which it took the lock.
    pub since: SystemTime,
    /// Start time of the process, in the kernel's ticks, since process ids are reused.
    began: u64,
}

// === impl DirectoryLock ===

impl DirectoryLock {
    /// Takes the lock of a directory. `waiting` is called once, if another process has it.
    pub fn acquire(
        directory: &Path,
        waiting: impl FnOnce(&DirectoryLockHolder),
    ) -> Result<Self, ContentError> {
        create_directory(directory)?;
        let path = directory.join("lock");
        let mut options = File::options();
        options.create(true).truncate(false).read(true).write(true);
        let mut file = options.open(&path).map_err(content_error("open", &path))?;
        let mut waiting = Some(waiting);
        while !try_lock(&file).map_err(content_error("lock", &path))? {
            match DirectoryLockHolder::read(&mut file) {
                Some(holder) if holder.is_gone() => end_orphans(&mut file, &holder),
                Some(holder) => {
                    if let Some(waiting) = waiting.take() {
                        waiting(&holder);
                    }
                }
                // The other process has the lock, but has not written its id yet.
                None => {}
            }
            std::thread::sleep(LOCK_LOOK);
        }
        write_holder(&mut file).map_err(content_error("write to", &path))?;
        Ok(Self {
            file: Arc::new(file),
        })
    }

    /// The standard input of a program that writes to the directory.
    pub fn inherited_stdin(&self) -> io::Result<Stdio> {
        Ok(Stdio::from(self.file.try_clone()?))
    }
}

fn try_lock(file: &File) -> io::Result<bool> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(error) if error == rustix::io::Errno::WOULDBLOCK => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Writes this process into the lock file as its holder.
fn write_holder(file: &mut File) -> io::Result<()> {
    let pid = std::process::id();
    let began = process_start_ticks(pid).unwrap_or_default();
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(format!("{pid} {began}\n").as_bytes())
}

/// Kills the programs that a killed process left behind.
fn end_orphans(file: &mut File, holder: &DirectoryLockHolder) {
    let Ok(own) = file.metadata() else {
        return;
    };
    let has_it = |pid: u32| {
        let stdin = std::fs::metadata(format!("/proc/{pid}/fd/0"));
        stdin.is_ok_and(|it| (it.dev(), it.ino()) == (own.dev(), own.ino()))
    };
    for pid in process_ids().into_iter().filter(|pid| has_it(*pid)) {
        // Another process may have the lock by now, and this program may belong to it.
        if DirectoryLockHolder::read(file).as_ref() != Some(holder) {
            return;
        }
        if let Some(group) = Pid::from_raw(pid.cast_signed()) {
            tracing::info!(pid, "a program that a killed deployment left is ended");
            // Each program leads its own process group. An error means that the program is gone
            // already.
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }
}

fn process_ids() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let number =
        |entry: io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    entries.filter_map(number).collect()
}

// === impl DirectoryLockHolder ===

impl DirectoryLockHolder {
    fn read(file: &mut File) -> Option<Self> {
        let mut text = String::new();
        file.rewind().ok()?;
        file.read_to_string(&mut text).ok()?;
        let (pid, began) = text.trim_end().split_once(' ')?;
        Some(Self {
            pid: pid.parse().ok()?,
            began: began.parse().ok()?,
            since: file.metadata().ok()?.modified().ok()?,
        })
    }

    fn is_gone(&self) -> bool {
        process_start_ticks(self.pid) != Some(self.began)
    }
}

/// Start time of a process, in ticks since boot; `None` if there is no such process, or it is a
/// zombie.
fn process_start_ticks(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the process is in parentheses, and may contain any characters.
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    match *fields.first()? {
        "Z" | "X" => None,
        _ => fields.get(19)?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};
    use std::sync::mpsc;

    use super::*;

    fn orphan(hold: &DirectoryLock) -> Child {
        let mut command = Command::new("sleep");
        command.arg("1000").stdin(hold.inherited_stdin().unwrap());
        command.process_group(0).spawn().unwrap()
    }

    #[test]
    fn one_waits_for_the_other_and_is_told_whom_for() {
        let directory = tempfile::tempdir().unwrap();
        let first = DirectoryLock::acquire(directory.path(), |_| panic!("nobody has it")).unwrap();
        let path = directory.path().to_owned();
        let (told, tell) = mpsc::channel();
        let second = std::thread::spawn(move || {
            DirectoryLock::acquire(&path, |holder| told.send(holder.clone()).unwrap()).map(drop)
        });
        let holder = tell.recv().unwrap();
        assert_eq!(holder.pid, std::process::id());
        assert!(holder.since <= SystemTime::now());
        assert!(!second.is_finished());
        drop(first);
        second.join().unwrap().unwrap();
    }

    #[test]
    fn what_a_killed_process_left_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let hold = DirectoryLock::acquire(directory.path(), |_| {}).unwrap();
        let mut left = orphan(&hold);
        // Simulates a holder that no longer runs.
        std::fs::write(directory.path().join("lock"), "4194305 1\n").unwrap();
        drop(hold);
        DirectoryLock::acquire(directory.path(), |_| panic!("it is gone")).unwrap();
        assert!(!left.wait().unwrap().success());
    }
}
