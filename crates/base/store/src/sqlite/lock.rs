//! The lock that limits a file to one server process.
//!
//! [`take`] locks a file beside the database, not the database itself: closing any
//! descriptor of a SQLite file drops SQLite's own locks on it. The kernel releases the lock when
//! the process ends, for any reason.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::OpenStoreError;

/// Holds the lock until it is dropped.
#[derive(Debug)]
pub(crate) struct DatabaseLock {
    _file: File,
}

/// Locks the database at `path` for this process.
pub(crate) fn take(path: &Path) -> Result<DatabaseLock, OpenStoreError> {
    let lock_path = lock_path(path);
    let io = |source| OpenStoreError::Io {
        path: lock_path.clone(),
        source,
    };
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&lock_path)
        .map_err(io)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(OpenStoreError::Locked {
                place: path.display().to_string(),
                holder: read_holder(&mut file),
            });
        }
        Err(TryLockError::Error(source)) => return Err(io(source)),
    }
    file.set_len(0).map_err(io)?;
    writeln!(file, "{}", std::process::id()).map_err(io)?;
    Ok(DatabaseLock { _file: file })
}

/// Path of the file whose lock the server holds.
pub(super) fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn read_holder(file: &mut File) -> String {
    let mut text = String::new();
    // Only for the message: a holder that has not written its process id yet is described as such.
    let _ = file.read_to_string(&mut text);
    match text.trim() {
        "" => "its process id is not known".to_owned(),
        pid => format!("process {pid}"),
    }
}
