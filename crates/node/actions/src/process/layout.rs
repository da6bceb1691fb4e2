//! Copies an action's files from the task cache into the spool entry right before the run. Main
//! function: [`lay_out`].
//!
//! Invariant: the bytes that are executed are those that were hashed. They are hashed while they
//! are written to a new file in a directory that nothing else writes to, so exchanging or changing
//! the cached file at any moment either fails the hash or comes too late. (Executing the checked
//! descriptor itself through `/proc/self/fd` would close the same gap, but a script would see that
//! as its own name and could not find the files beside it.)

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use pxp::action::{FilePath, Sha256};
use serde::{Deserialize, Serialize};
use sha2::Digest;

/// One file to copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LaidOutFile {
    /// Path of the cached file.
    pub(crate) source: String,
    /// The expected digest.
    pub(crate) sha256: Sha256,
    /// Path below the entry.
    pub(crate) destination: FilePath,
}

/// Reason for which a file could not be copied; in that case nothing ran.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LayOutError {
    #[error("cannot copy {path}: {source}")]
    Copy { path: String, source: io::Error },
    #[error("{path} has changed: its sha256 is {found}, expected {expected}")]
    Changed {
        path: String,
        found: Sha256,
        expected: Sha256,
    },
}

/// Copies all files below `entry`, with mode 0750.
pub(crate) fn lay_out(files: &[LaidOutFile], entry: &Path) -> Result<(), LayOutError> {
    for file in files {
        let found = copy(file, entry).map_err(|source| LayOutError::Copy {
            path: file.source.clone(),
            source,
        })?;
        if found != file.sha256 {
            return Err(LayOutError::Changed {
                path: file.source.clone(),
                found,
                expected: file.sha256,
            });
        }
    }
    Ok(())
}

fn copy(file: &LaidOutFile, entry: &Path) -> io::Result<Sha256> {
    let destination = entry.join(&file.destination);
    if let Some(parent) = destination.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o750)
            .create(parent)?;
    }
    let mut source = File::open(&file.source)?;
    let mut copy = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o750)
        .open(&destination)?;
    copy_hashed(&mut source, &mut copy)
}

/// Copies all bytes and returns their digest.
pub(crate) fn copy_hashed(from: &mut impl Read, to: &mut impl Write) -> io::Result<Sha256> {
    let mut hasher = sha2::Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(Sha256::from(<[u8; 32]>::from(hasher.finalize()))),
            Ok(read) => {
                hasher.update(&buffer[..read]);
                to.write_all(&buffer[..read])?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// SHA-256 of `abc`, from FIPS 180-2.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn file(source: &Path, sha256: &str, destination: &str) -> LaidOutFile {
        LaidOutFile {
            source: source.to_str().unwrap().into(),
            sha256: sha256.parse().unwrap(),
            destination: destination.parse().unwrap(),
        }
    }

    #[test]
    fn a_file_is_copied_with_its_mode_and_parents() {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("source");
        std::fs::write(&source, "abc").unwrap();
        lay_out(&[file(&source, ABC, "files/m/tasks/t.sh")], dir.path()).unwrap();
        let copy = dir.path().join("files/m/tasks/t.sh");
        assert_eq!(std::fs::read(&copy).unwrap(), b"abc");
        let mode = std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & !0o750, 0, "no right beyond 0750, whatever the umask");
        assert_eq!(mode & 0o500, 0o500);
    }

    #[test]
    fn a_changed_file_is_refused_and_named() {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("source");
        std::fs::write(&source, "abd").unwrap();
        let error = lay_out(&[file(&source, ABC, "files/t")], dir.path()).unwrap_err();
        assert!(
            matches!(&error, LayOutError::Changed { expected, .. } if expected.to_string() == ABC)
        );
        assert!(error.to_string().contains("source has changed"), "{error}");
    }
}
