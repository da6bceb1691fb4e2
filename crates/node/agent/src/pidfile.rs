//! PID file, at most one agent per file.
//!
//! [`PidFile`] holds an exclusive lock on the file for its lifetime. Invariant: the lock decides,
//! never the number in the file, so a crash leaves nothing to clean up by hand and a reused process
//! id cannot keep an agent from starting.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, fcntl_lock};

/// The locked file; removed on drop.
#[derive(Debug)]
pub struct PidFile {
    path: PathBuf,
    file: File,
}

/// Reason for which the lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum PidFileError {
    /// Another agent holds the lock.
    #[error("another agent (process {pid}) is running: it holds '{path}'")]
    AlreadyRunning {
        /// Path of the PID file.
        path: PathBuf,
        /// Content of the file; `unknown` if it is empty.
        pid: String,
    },
    /// The file or its directory cannot be written.
    #[error("cannot write PID file '{path}'; choose another with --pidfile")]
    Io {
        /// Path of the PID file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// Number of times that the file may vanish between opening and locking it.
const LOCK_ATTEMPTS: u32 = 5;

// === impl PidFile ===

impl PidFile {
    /// Locks `path` and writes the process id of this process into it.
    pub fn lock(path: &Path) -> Result<Self, PidFileError> {
        let failed = |source| PidFileError::Io {
            path: path.to_owned(),
            source,
        };
        if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            std::fs::create_dir_all(directory).map_err(failed)?;
        }
        for _ in 0..LOCK_ATTEMPTS {
            let mut file = open(path).map_err(failed)?;
            match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => {
                    return Err(PidFileError::AlreadyRunning {
                        path: path.to_owned(),
                        pid: holder(&mut file),
                    });
                }
                Err(errno) => return Err(failed(errno.into())),
            }
            // The former holder removes the file while it still has the lock: the locked file may
            // no longer have a name.
            if is_named(&file, path) {
                write_pid(&mut file).map_err(failed)?;
                return Ok(Self {
                    path: path.to_owned(),
                    file,
                });
            }
        }
        Err(failed(io::Error::other(
            "the file is removed as often as it is created",
        )))
    }

    /// Path of the PID file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // Removed while the lock is held, and only if the path still names the locked file.
        if is_named(&self.file, &self.path) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o640)
        .open(path)
}

fn is_named(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(ours), Ok(named)) => ours.ino() == named.ino() && ours.dev() == named.dev(),
        _ => false,
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    // The path may hold a foreign file of any size: a number is short.
    let read = file.take(32).read_to_string(&mut text);
    match read.map(|_| text.trim()) {
        Ok(pid) if !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit()) => pid.to_owned(),
        _ => "unknown".to_owned(),
    }
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", std::process::id())?;
    file.sync_data()
}
