//! Files of the lease directory: bounded reads ([`read_json`]) and locks of the kernel ([`LeaseFileLock`]).
//!
//! Invariant: no file in the directory makes a reader block, whatever its kind and size.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Instant;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use serde::de::DeserializeOwned;

use super::LeaseError;
use crate::defaults::{LEASE_FILE_BYTES, LEASE_LOCK_RETRY, LEASE_LOCK_TIMEOUT};

/// Mode of all files: the reason of a lease is for administrators.
pub(super) const MODE: u32 = 0o600;

/// A lock of the kernel on a file. It ends with the value, or with the process.
#[derive(Debug)]
pub(crate) struct LeaseFileLock {
    _file: File,
}

/// The content of a file; `None` if there is none.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, LeaseError> {
    let Some(file) = open_regular(path, false)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    let read = file.take(LEASE_FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|source| LeaseError::read(path, source))?;
    if bytes.len() as u64 > LEASE_FILE_BYTES {
        return Err(LeaseError::damaged(path, "it is too large"));
    }
    match serde_json::from_slice(&bytes) {
        Ok(content) => Ok(Some(content)),
        Err(error) => Err(LeaseError::damaged(path, &error.to_string())),
    }
}

/// Opens a file that a reader can trust not to block; `None` if there is none and `create` is false.
fn open_regular(path: &Path, create: bool) -> Result<Option<File>, LeaseError> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = std::fs::OpenOptions::new()
        .read(true)
        .write(create)
        .create(create)
        .mode(MODE)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Err(LeaseError::damaged(path, "it is a link"));
        }
        Err(source) => return Err(LeaseError::read(path, source)),
    };
    let meta = file.metadata();
    match meta
        .map_err(|source| LeaseError::read(path, source))?
        .is_file()
    {
        true => Ok(Some(file)),
        false => Err(LeaseError::damaged(path, "it is not a file")),
    }
}

// === impl LeaseFileLock ===

impl LeaseFileLock {
    /// Waits for the exclusive lock, which others hold for the time of some writes.
    pub(super) fn acquire(path: &Path) -> Result<Self, LeaseError> {
        let deadline = Instant::now() + LEASE_LOCK_TIMEOUT;
        loop {
            if let Some(lock) = Self::try_exclusive(path)? {
                return Ok(lock);
            }
            if Instant::now() >= deadline {
                return Err(LeaseError::Locked {
                    path: path.to_owned(),
                    seconds: LEASE_LOCK_TIMEOUT.as_secs(),
                });
            }
            std::thread::sleep(LEASE_LOCK_RETRY);
        }
    }

    /// The exclusive lock, unless another process has one.
    pub(super) fn try_exclusive(path: &Path) -> Result<Option<Self>, LeaseError> {
        Self::lock(path, FlockOperation::NonBlockingLockExclusive)
    }

    /// A shared lock, unless another process has the exclusive one.
    pub(super) fn try_shared(path: &Path) -> Result<Option<Self>, LeaseError> {
        Self::lock(path, FlockOperation::NonBlockingLockShared)
    }

    /// Waits for the exclusive lock without limit.
    pub(super) fn wait_exclusive(path: &Path) -> Result<Option<Self>, LeaseError> {
        Self::lock(path, FlockOperation::LockExclusive)
    }

    fn lock(path: &Path, operation: FlockOperation) -> Result<Option<Self>, LeaseError> {
        // A file that is opened for reading only is closed without an event for a lease holder that watches the directory.
        let file = match open_regular(path, false)? {
            Some(file) => Some(file),
            None => open_regular(path, true)?,
        };
        let Some(file) = file else {
            return Err(LeaseError::read(path, io::ErrorKind::NotFound.into()));
        };
        loop {
            match flock(&file, operation) {
                Ok(()) => return Ok(Some(Self { _file: file })),
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(LeaseError::read(path, errno.into())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_blocks_or_fills_the_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lease.json");
        let read = || read_json::<Vec<u32>>(&path);
        assert_eq!(read().unwrap(), None);

        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(matches!(read(), Err(LeaseError::Damaged { .. })), "a FIFO");
        assert!(LeaseFileLock::try_exclusive(&path).is_err(), "a FIFO");

        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert!(matches!(read(), Err(LeaseError::Damaged { .. })), "a link");
        assert!(LeaseFileLock::try_exclusive(&path).is_err(), "a link");

        std::fs::remove_file(&path).unwrap();
        let huge = File::create(&path).unwrap();
        huge.set_len(1 << 40).unwrap();
        assert!(matches!(read(), Err(LeaseError::Damaged { .. })), "huge");
        std::fs::write(&path, "{").unwrap();
        assert!(matches!(read(), Err(LeaseError::Damaged { .. })), "corrupt");
        std::fs::write(&path, "[7]").unwrap();
        assert_eq!(read().unwrap(), Some(vec![7]));
    }

    #[test]
    fn locks_exclude_one_another_until_they_are_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs.lock");
        let one = LeaseFileLock::try_shared(&path).unwrap().unwrap();
        let two = LeaseFileLock::try_shared(&path).unwrap().unwrap();
        assert!(LeaseFileLock::try_exclusive(&path).unwrap().is_none());
        drop((one, two));
        let own = LeaseFileLock::try_exclusive(&path).unwrap().unwrap();
        assert!(LeaseFileLock::try_shared(&path).unwrap().is_none());
        drop(own);
        LeaseFileLock::acquire(&path).unwrap();
    }
}
