//! Loss of an action's output on a full or failing disk: [`OutputLoss`].
//!
//! An action writes into the spool by itself, so only the action sees its writes fail, and its
//! message about that goes to the same disk. Therefore the disk is probed right after the action
//! ended. Invariants: only the disk's answer is reported, which is its state at the end; a loss is
//! one number, so that the exit record can hold it even on a full disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::defaults::SPOOL_PROBE_BYTES;

/// Reason for which the spool accepts no output: the kernel's error number, one of
/// [`OutputLoss::KNOWN`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct OutputLoss {
    errno: i32,
}

impl OutputLoss {
    /// Errors of the disk; others (the action removed its own entry, for example) are not losses.
    const KNOWN: [Errno; 4] = [Errno::NOSPC, Errno::DQUOT, Errno::IO, Errno::ROFS];

    /// The loss that this error indicates, if any.
    pub(super) fn of(error: &io::Error) -> Option<Self> {
        let errno = error.raw_os_error()?;
        let is_known = Self::KNOWN.iter().any(|one| one.raw_os_error() == errno);
        is_known.then_some(Self { errno })
    }

    /// Probes the file system of `entry` by allocating a block, which is freed at once.
    pub(super) fn probe(entry: &Path) -> Option<Self> {
        let probe = entry.join(".room");
        let room = allocate_block(&probe);
        // Also removes a file that was created but got no space; if none was created, nothing is
        // left.
        let _ = std::fs::remove_file(&probe);
        room.err().as_ref().and_then(Self::of)
    }

    /// Cause, place and next step as a text; `spool` is the directory of the output.
    pub(crate) fn describe(self, spool: &Path) -> String {
        let error = io::Error::from_raw_os_error(self.errno);
        let (cause, step) = match Errno::from_raw_os_error(self.errno) {
            Errno::NOSPC => ("was full", "make room there"),
            Errno::DQUOT => (
                "had no more room for the agent's user",
                "raise the quota or make room there",
            ),
            Errno::ROFS => ("had become read-only", "check the disk"),
            _ => ("could not be written to", "check the disk"),
        };
        format!(
            "the file system of the spool {} {cause} when the action ended ({error}), so output \
             may be missing; {step} and run it again",
            spool.display()
        )
    }
}

/// Allocates blocks on the disk now: a write would only be buffered, and could fail later.
fn allocate_block(probe: &Path) -> io::Result<()> {
    let mut file: File = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o640)
        .open(probe)?;
    match fallocate(&file, FallocateFlags::empty(), 0, SPOOL_PROBE_BYTES as u64) {
        // NFS before 4.2, for example.
        Err(Errno::OPNOTSUPP) => file.write_all(&[0; SPOOL_PROBE_BYTES]),
        taken => Ok(taken?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_with_room_is_no_loss_and_nothing_is_left_on_it() {
        let entry = tempfile::tempdir().unwrap();
        assert_eq!(OutputLoss::probe(entry.path()), None);
        assert_eq!(std::fs::read_dir(entry.path()).unwrap().count(), 0);
        assert_eq!(OutputLoss::probe(&entry.path().join("gone")), None);
    }

    #[test]
    fn only_errors_of_the_disk_are_losses_and_each_is_told_with_its_place_and_step() {
        let spool = Path::new("/some/spool");
        for errno in OutputLoss::KNOWN {
            let loss = OutputLoss::of(&errno.into()).unwrap();
            let words = loss.describe(spool);
            assert!(words.contains("/some/spool"), "{words}");
            assert!(
                words.contains(&io::Error::from(errno).to_string()),
                "{words}"
            );
            assert!(words.ends_with("and run it again"), "{words}");
        }
        for errno in [Errno::NOENT, Errno::ACCESS, Errno::FBIG] {
            assert_eq!(OutputLoss::of(&errno.into()), None);
        }
        assert_eq!(OutputLoss::of(&io::Error::other("no number")), None);
    }
}
