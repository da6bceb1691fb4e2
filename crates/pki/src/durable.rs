//! Files that survive a crash whole: after [`write_atomic`] returns, a reader
//! finds the new content, and before that the old one, never a part.
//!
//! The rule: write a temporary file beside the target, fsync it, rename it over
//! the target, fsync the directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A durable write failed; the target is unchanged.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}")]
pub struct WriteError {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

/// Replaces `path` by `bytes` with the permission bits `mode`.
pub fn write_atomic(path: &Path, bytes: &[u8], mode: u32) -> Result<(), WriteError> {
    let written = || -> io::Result<()> {
        let temporary = temporary_beside(path, bytes, mode)?;
        temporary.persist(path).map_err(|error| error.error)?;
        sync_directory_of(path)
    };
    written().map_err(|source| write_error(path, source))
}

/// Creates `path` with `bytes` unless it exists; tells whether it did. Of
/// several processes exactly one creates it, and all of them see it whole.
pub fn create_new(path: &Path, bytes: &[u8], mode: u32) -> Result<bool, WriteError> {
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
pub fn append(path: &Path, line: &[u8], mode: u32) -> Result<(), WriteError> {
    let appended = || -> io::Result<()> {
        let existed = path.exists();
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(mode)
            .open(path)?;
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

/// Removes `path`; a file that is not there is no error. Tells whether it was.
pub fn remove(path: &Path) -> Result<bool, WriteError> {
    match fs::remove_file(path) {
        Ok(()) => sync_directory_of(path)
            .map(|()| true)
            .map_err(|source| write_error(path, source)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(write_error(path, source)),
    }
}

/// Creates a directory and its parents; those that it creates get `mode`.
pub fn create_dir(path: &Path, mode: u32) -> Result<(), WriteError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(path)
        .and_then(|()| sync_directory_of(path))
        .map_err(|source| write_error(path, source))
}

fn temporary_beside(path: &Path, bytes: &[u8], mode: u32) -> io::Result<NamedTempFile> {
    // The mode is given at creation, so a key is never readable by others, not
    // even before the rename.
    let mut temporary = tempfile::Builder::new()
        .prefix(".tmp-")
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(directory_of(path))?;
    temporary.write_all(bytes)?;
    // Creation is subject to the umask; the promise is the exact mode.
    temporary
        .as_file()
        .set_permissions(fs::Permissions::from_mode(mode))?;
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

fn write_error(path: &Path, source: io::Error) -> WriteError {
    WriteError {
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
