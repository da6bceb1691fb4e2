//! Atomic and durable file writes: after [`write_atomic`] returns, a reader finds the new content,
//! and before that the old content, never a part, even after a crash.
//!
//! Invariants: a temporary file is written beside the target, fsynced and renamed over the target,
//! then the directory is fsynced; and a file created by root belongs to the owner and group of its
//! directory, so that after a command of root the service's own user can still read every file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

const ROOT: u32 = 0;

/// Prefix of the names of temporary files, some of which may remain after a crash.
pub const TEMPORARY_PREFIX: &str = ".tmp-";

/// The error of a durable write; the target is unchanged.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}")]
pub struct DurableWriteError {
    /// Path of the target.
    pub path: PathBuf,
    /// The underlying I/O error.
    #[source]
    pub source: io::Error,
}

/// Replaces `path` by `bytes` with the permission bits `mode`.
pub fn write_atomic(path: &Path, bytes: &[u8], mode: u32) -> Result<(), DurableWriteError> {
    let written = || -> io::Result<()> {
        let temporary = temporary_beside(path, bytes, mode)?;
        temporary.persist(path).map_err(|error| error.error)?;
        sync_directory_of(path)
    };
    written().map_err(|source| write_error(path, source))
}

/// Creates `path` with `bytes` unless it exists; returns true if it was created. Of several
/// processes exactly one creates it, and all of them see the complete file.
pub fn create_new(path: &Path, bytes: &[u8], mode: u32) -> Result<bool, DurableWriteError> {
    let created = || -> io::Result<bool> {
        let temporary = temporary_beside(path, bytes, mode)?;
        match temporary.persist_noclobber(path) {
            Ok(_) => sync_directory_of(path).map(|()| true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.error),
        }
    };
    created().map_err(|source| write_error(path, source))
}

/// Appends `line` to `path`, creating it with `mode`; durable on return.
pub fn append(path: &Path, line: &[u8], mode: u32) -> Result<(), DurableWriteError> {
    let appended = || -> io::Result<()> {
        let existed = path.exists();
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(mode)
            .open(path)?;
        if !existed {
            adopt_owner_of_directory(&file, path)?;
        }
        file.write_all(line)?;
        file.sync_all()?;
        if existed {
            Ok(())
        } else {
            sync_directory_of(path)
        }
    };
    appended().map_err(|source| write_error(path, source))
}

/// Removes `path` and returns true if it existed; a missing file is not an error.
pub fn remove(path: &Path) -> Result<bool, DurableWriteError> {
    match fs::remove_file(path) {
        Ok(()) => sync_directory_of(path)
            .map(|()| true)
            .map_err(|source| write_error(path, source)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(write_error(path, source)),
    }
}

/// Creates a directory and its parents; new directories get `mode`.
pub fn create_dir(path: &Path, mode: u32) -> Result<(), DurableWriteError> {
    let created = || -> io::Result<()> {
        let mut missing: Vec<_> = path
            .ancestors()
            .take_while(|it| !it.as_os_str().is_empty() && !it.is_dir())
            .collect();
        while let Some(directory) = missing.pop() {
            match fs::DirBuilder::new().mode(mode).create(directory) {
                Ok(()) => adopt_owner_of_directory(&File::open(directory)?, directory)?,
                // Another process has created it meanwhile.
                Err(_) if directory.is_dir() => {}
                Err(error) => return Err(error),
            }
        }
        sync_directory_of(path)
    };
    created().map_err(|source| write_error(path, source))
}

/// Changes the owner and group of `made`, which this process just created at `path`, to those of
/// the directory that contains it. Only root can and must do so: files of other users remain their
/// own.
pub(crate) fn adopt_owner_of_directory(made: &File, path: &Path) -> io::Result<()> {
    let directory = fs::metadata(directory_of(path))?;
    let owner = made.metadata()?;
    let is_as_directory = (owner.uid(), owner.gid()) == (directory.uid(), directory.gid());
    if owner.uid() != ROOT || is_as_directory {
        return Ok(());
    }
    fchown(made, Some(directory.uid()), Some(directory.gid()))
}

fn temporary_beside(path: &Path, bytes: &[u8], mode: u32) -> io::Result<NamedTempFile> {
    // The mode is set at creation, so a key is never readable by others, not even before the
    // rename.
    let mut temporary = tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(directory_of(path))?;
    temporary.write_all(bytes)?;
    // The umask applies at creation; this function promises the exact mode.
    temporary
        .as_file()
        .set_permissions(fs::Permissions::from_mode(mode))?;
    adopt_owner_of_directory(temporary.as_file(), path)?;
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

fn sync_directory_of(path: &Path) -> io::Result<()> {
    File::open(directory_of(path))?.sync_all()
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn write_error(path: &Path, source: io::Error) -> DurableWriteError {
    DurableWriteError {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_content_and_mode_and_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key.pem");
        write_atomic(&path, b"one", 0o644).unwrap();
        write_atomic(&path, b"two", 0o600).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
            0o600
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_names_the_file_and_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("missing").join("file");
        let error = write_atomic(&path, b"x", 0o600).unwrap_err();
        assert_eq!(error.path, path);
        assert!(!path.exists());
    }

    #[test]
    fn create_new_keeps_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("once");
        assert!(create_new(&path, b"first", 0o600).unwrap());
        assert!(!create_new(&path, b"second", 0o600).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"first");
    }

    /// A command of root in the directory of the service's user.
    #[test]
    fn what_root_writes_belongs_to_the_owner_of_the_directory() {
        const SERVICE: (u32, u32) = (64_123, 64_124);
        let dir = tempfile::tempdir().unwrap();
        if fs::metadata(dir.path()).unwrap().uid() != ROOT {
            eprintln!("SKIPPED: only root writes into directories of other users");
            return;
        }
        let given = File::open(dir.path()).unwrap();
        fchown(&given, Some(SERVICE.0), Some(SERVICE.1)).unwrap();
        let at = |name: &str| dir.path().join(name);
        write_atomic(&at("written"), b"x", 0o640).unwrap();
        create_new(&at("created"), b"x", 0o600).unwrap();
        append(&at("appended"), b"x", 0o640).unwrap();
        create_dir(&at("parent/child"), 0o750).unwrap();
        write_atomic(&at("parent/child/file"), b"x", 0o640).unwrap();
        drop(crate::lock::FileLock::acquire(&at("lock")).unwrap());
        // A file that root created earlier is corrected when it is written again.
        fs::write(at("left"), b"x").unwrap();
        write_atomic(&at("left"), b"y", 0o640).unwrap();
        for (name, mode) in [
            ("written", 0o640),
            ("created", 0o600),
            ("appended", 0o640),
            ("parent", 0o750),
            ("parent/child", 0o750),
            ("parent/child/file", 0o640),
            ("lock", 0o600),
            ("left", 0o640),
        ] {
            let meta = fs::metadata(at(name)).unwrap();
            assert_eq!((meta.uid(), meta.gid()), SERVICE, "{name}");
            assert_eq!(meta.mode() & 0o7777, mode, "{name}");
        }
    }

    #[test]
    fn append_adds_and_remove_tells() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("inventory");
        append(&path, b"a\n", 0o640).unwrap();
        append(&path, b"b\n", 0o640).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"a\nb\n");
        assert!(remove(&path).unwrap());
        assert!(!remove(&path).unwrap());
    }
}
