//! Locks of the module `common`: [`RerunLock`], and [`find_waiter`] for that of the process that waits for the time of the
//! requests.
//!
//! Invariant: they are locks of the kernel, which end with the process that has them. The lock of the waiter is tried
//! under that of its start, since a waiter that cannot get it ends.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::mpsc;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::process::{Pid, Signal, kill_process};

use super::RerunError;
use crate::defaults::RERUN_LOCK_TIMEOUT;

/// The lock under which the state is changed.
pub(super) const STATE_LOCK: &str = "lock";
/// The lock under which a waiter is looked for and started.
const START_LOCK: &str = "start.lock";
const WAITER_LOCK: &str = "waiter.lock";
/// Mode of a lock file.
const MODE: u32 = 0o600;
/// Largest text of a lock file: a process id and a line feed.
const PID_BYTES: u64 = 20;

/// A lock that this process holds. Dropping it releases it.
#[derive(Debug)]
pub(super) struct RerunLock {
    _file: File,
}

impl RerunLock {
    /// Waits for the lock, which others hold for the time of one write or of the start of one process.
    pub(super) fn acquire(directory: &Path, name: &str) -> Result<Self, RerunError> {
        let file = open(directory, name)?;
        let (sender, receiver) = mpsc::channel();
        // The thread ends when it gets the lock, or with this short-lived program.
        std::thread::spawn(move || {
            let locked = flock(&file, FlockOperation::LockExclusive);
            // A receiver that is gone has given up.
            let _ = sender.send(locked.map(|()| file));
        });
        match receiver.recv_timeout(RERUN_LOCK_TIMEOUT) {
            Ok(Ok(file)) => Ok(Self { _file: file }),
            Ok(Err(errno)) => Err(unreadable(directory, name, errno.into())),
            Err(_) => Err(RerunError::Locked {
                path: directory.join(name),
                seconds: RERUN_LOCK_TIMEOUT.as_secs(),
            }),
        }
    }
}

/// The id of the process that waits for the requests; `None` if there is none.
pub(super) fn find_waiter(directory: &Path) -> Result<Option<u32>, RerunError> {
    if !directory.join(WAITER_LOCK).exists() {
        return Ok(None);
    }
    let _start = RerunLock::acquire(directory, START_LOCK)?;
    let file = open(directory, WAITER_LOCK)?;
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        // The lock was free; this one ends with the file.
        Ok(()) => return Ok(None),
        Err(rustix::io::Errno::WOULDBLOCK) => {}
        Err(errno) => return Err(unreadable(directory, WAITER_LOCK, errno.into())),
    }
    let mut text = String::new();
    let read = file.take(PID_BYTES).read_to_string(&mut text);
    // The process that has just got the lock writes its id next.
    Ok(read.ok().and_then(|_| text.trim().parse().ok()))
}

/// Lets the process that waits look at the requests again.
pub(super) fn wake_waiter(directory: &Path) -> Result<(), RerunError> {
    let pid = find_waiter(directory)?.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    if let Some(pid) = pid {
        // A process that has ended meanwhile has nothing to look at.
        let _ = kill_process(pid, Signal::USR1);
    }
    Ok(())
}

fn open(directory: &Path, name: &str) -> Result<File, RerunError> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(MODE)
        .custom_flags(flags.bits().cast_signed())
        .open(directory.join(name))
        .map_err(|source| unreadable(directory, name, source))
}

fn unreadable(directory: &Path, name: &str, source: io::Error) -> RerunError {
    RerunError::Read {
        path: directory.join(name),
        source,
    }
}
