//! Puppet's lock of a run in progress, as a lease holder takes it: [`StandardRunLock`].
//!
//! Invariants: the file is never seen empty, which Puppet takes for a stale lock; the lock of a live Puppet is never
//! removed; and only the own lock is given back.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use super::super::lock;
use crate::defaults::{LOCK_ATTEMPTS, LOCK_WRITE_TIME};

/// Mode of the lock file, as Puppet creates it.
const MODE: u32 = 0o644;

/// The file `agent_catalog_run_lockfile`.
#[derive(Debug)]
pub(super) struct StandardRunLock {
    path: PathBuf,
    /// The process that takes the lock.
    pid: u32,
}

/// The outcome of an attempt to take the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockAttempt {
    /// The process has the lock, perhaps since earlier.
    Taken,
    /// A run in progress has it.
    Busy(u32),
    /// Other processes change the file at this moment.
    Unclear,
}

/// The content of the lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LockContent {
    Absent,
    Live(u32),
    /// Empty, and so new that its process may be about to write its id.
    Unwritten,
    Stale,
}

// === impl StandardRunLock ===

impl StandardRunLock {
    pub(super) fn new(path: PathBuf, pid: u32) -> Self {
        Self { path, pid }
    }

    /// The directory in which the file appears and disappears.
    pub(super) fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    pub(super) fn is_own(&self) -> bool {
        lock::read_lock_holder(&self.path) == Some(self.pid)
    }

    /// Takes the lock unless a run in progress has it.
    pub(super) fn take(&self) -> io::Result<LockAttempt> {
        for _ in 0..LOCK_ATTEMPTS {
            let attempt = match LockContent::read(&self.path)? {
                LockContent::Live(pid) if pid == self.pid => Some(LockAttempt::Taken),
                LockContent::Live(pid) => Some(LockAttempt::Busy(pid)),
                LockContent::Unwritten => Some(LockAttempt::Unclear),
                LockContent::Absent => self.create()?,
                LockContent::Stale => self.replace_stale()?,
            };
            if let Some(attempt) = attempt {
                return Ok(attempt);
            }
        }
        Ok(LockAttempt::Unclear)
    }

    /// Removes the lock if this process has it.
    pub(super) fn give_back(&self) {
        if self.is_own() {
            // A lock that stays is stale as soon as this process has ended.
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Creates the file with its content, in one step; `None` if there is one meanwhile.
    fn create(&self) -> io::Result<Option<LockAttempt>> {
        match self.write_beside()?.persist_noclobber(&self.path) {
            Ok(_) => Ok(Some(LockAttempt::Taken)),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(error.error),
        }
    }

    /// Exchanges the stale file for the own one, and then looks at what was exchanged: a Puppet that took the lock since
    /// gets its file back.
    fn replace_stale(&self) -> io::Result<Option<LockAttempt>> {
        let other = self.write_beside()?;
        let exchange = || renameat_with(CWD, other.path(), CWD, &self.path, RenameFlags::EXCHANGE);
        match exchange() {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(None),
            // The file system cannot exchange files.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                other.persist(&self.path).map_err(|error| error.error)?;
                return Ok(Some(LockAttempt::Taken));
            }
            Err(errno) => return Err(errno.into()),
        }
        match LockContent::read(other.path())? {
            LockContent::Live(_) | LockContent::Unwritten => {
                exchange()?;
                Ok(None)
            }
            LockContent::Absent | LockContent::Stale => Ok(Some(LockAttempt::Taken)),
        }
    }

    /// A file with the own process id in the directory of the lock, which Puppet creates with its first run.
    fn write_beside(&self) -> io::Result<NamedTempFile> {
        std::fs::create_dir_all(self.directory())?;
        let mut file = tempfile::Builder::new()
            .prefix(".tutti-lease-")
            .permissions(std::fs::Permissions::from_mode(MODE))
            .tempfile_in(self.directory())?;
        io::Write::write_all(&mut file, self.pid.to_string().as_bytes())?;
        Ok(file)
    }
}

impl std::fmt::Display for StandardRunLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path.display())
    }
}

impl LockContent {
    fn read(path: &Path) -> io::Result<Self> {
        let meta = match std::fs::symlink_metadata(path) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::Absent),
            Err(error) => return Err(error),
        };
        if meta.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if let Some(pid) = lock::read_lock_holder(path) {
            return Ok(Self::Live(pid));
        }
        let is_empty = lock::read_small(path).is_some_and(|text| text.trim_ascii().is_empty());
        let age = meta.modified().ok().and_then(|it| it.elapsed().ok());
        Ok(match age {
            Some(age) if is_empty && age < LOCK_WRITE_TIME => Self::Unwritten,
            _ => Self::Stale,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::process::{Child, Command, Stdio};
    use std::time::SystemTime;

    use super::*;

    /// A process that Puppet's rule takes for Puppet.
    pub(in super::super) struct PuppetProcess(pub(in super::super) Child);

    impl PuppetProcess {
        pub(in super::super) fn start(dir: &Path) -> Self {
            let program = dir.join("puppet-run");
            let _ = std::os::unix::fs::symlink("/bin/sh", &program);
            let child = Command::new(program)
                .args(["-c", "read line"])
                .stdin(Stdio::piped())
                .spawn()
                .unwrap();
            Self(child)
        }
    }

    impl Drop for PuppetProcess {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    fn content(lock: &StandardRunLock) -> String {
        std::fs::read_to_string(&lock.path).unwrap()
    }

    fn count_files(lock: &StandardRunLock) -> usize {
        std::fs::read_dir(lock.directory()).unwrap().count()
    }

    #[test]
    fn the_lock_of_a_run_is_left_alone_until_the_run_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let (run, own) = (
            PuppetProcess::start(dir.path()),
            PuppetProcess::start(dir.path()),
        );
        let lock = StandardRunLock::new(dir.path().join("state/lock"), own.0.id());
        std::fs::create_dir(lock.directory()).unwrap();
        let pid = run.0.id();
        std::fs::write(&lock.path, format!("{pid}\n")).unwrap();
        assert_eq!(lock.take().unwrap(), LockAttempt::Busy(pid));
        lock.give_back();
        assert_eq!(content(&lock), format!("{pid}\n"));
        drop(run);
        assert_eq!(lock.take().unwrap(), LockAttempt::Taken);
        assert_eq!(content(&lock), own.0.id().to_string());
        assert_eq!(lock.take().unwrap(), LockAttempt::Taken);
        assert_eq!(count_files(&lock), 1);
        lock.give_back();
        assert_eq!(count_files(&lock), 0);
    }

    #[test]
    fn a_lock_that_may_be_about_to_be_written_is_not_stale() {
        let dir = tempfile::tempdir().unwrap();
        let own = PuppetProcess::start(dir.path());
        let lock = StandardRunLock::new(dir.path().join("state/lock"), own.0.id());
        assert_eq!(
            lock.take().unwrap(),
            LockAttempt::Taken,
            "its directory is new"
        );
        let file = std::fs::File::create(&lock.path).unwrap();
        assert_eq!(lock.take().unwrap(), LockAttempt::Unclear);
        file.set_modified(SystemTime::now() - 2 * LOCK_WRITE_TIME)
            .unwrap();
        assert_eq!(lock.take().unwrap(), LockAttempt::Taken);
    }

    #[test]
    fn anything_else_at_the_path_is_replaced_or_named_and_never_followed() {
        let dir = tempfile::tempdir().unwrap();
        let own = PuppetProcess::start(dir.path());
        let lock = StandardRunLock::new(dir.path().join("state/lock"), own.0.id());
        std::fs::create_dir(lock.directory()).unwrap();
        let victim = dir.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &lock.path).unwrap();
        assert_eq!(lock.take().unwrap(), LockAttempt::Taken);
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");

        std::fs::remove_file(&lock.path).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(CWD, &lock.path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert_eq!(lock.take().unwrap(), LockAttempt::Unclear, "new and empty");

        std::fs::remove_file(&lock.path).unwrap();
        std::fs::create_dir(&lock.path).unwrap();
        assert!(lock.take().is_err());
        assert_eq!(count_files(&lock), 1);
    }
}
