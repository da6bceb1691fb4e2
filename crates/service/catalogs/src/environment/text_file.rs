//! Text files of an environment: [`read_limited`].
//!
//! Invariant: no more than [`FILE_BYTES_MAX`] are read, and an error names the file.

use std::io::{ErrorKind, Read as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use evaluator::CodeReadError;

use crate::defaults::FILE_BYTES_MAX;

/// A file of an environment that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentReadError {
    /// Error of the operating system, or a text that is not UTF-8.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is larger than {max} bytes", path.display())]
    TooLarge { path: PathBuf, max: u64 },
    /// A path, link or setting of the environment leads to a file with secrets of the server.
    #[error("{} belongs to this server, and code of environments cannot read it", path.display())]
    Hidden { path: PathBuf },
}

impl From<EnvironmentReadError> for CodeReadError {
    fn from(failure: EnvironmentReadError) -> Self {
        let (path, cause) = match &failure {
            EnvironmentReadError::Io { path, source } => (path, source.to_string()),
            EnvironmentReadError::TooLarge { path, max } => {
                (path, format!("it is larger than {max} bytes"))
            }
            EnvironmentReadError::Hidden { path } => (
                path,
                "it belongs to this server, and code of environments cannot read it".to_owned(),
            ),
        };
        Self {
            path: path.display().to_string(),
            cause,
        }
    }
}

/// Reads a text file up to the size limit.
pub(super) fn read_limited(path: &Path) -> Result<String, EnvironmentReadError> {
    read_unless_hidden(path, |_| false)
}

/// The same, unless `is_hidden` is true for the real path of the file that was opened.
pub(super) fn read_unless_hidden(
    path: &Path,
    is_hidden: impl FnOnce(&Path) -> bool,
) -> Result<String, EnvironmentReadError> {
    let bytes = read_bytes_unless_hidden(path, is_hidden)?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = format!("it is not UTF-8 from byte {valid} on");
        EnvironmentReadError::Io {
            path: path.to_owned(),
            source: std::io::Error::new(ErrorKind::InvalidData, text),
        }
    })
}

/// The same for a file that need not be a text.
pub(super) fn read_bytes_unless_hidden(
    path: &Path,
    is_hidden: impl FnOnce(&Path) -> bool,
) -> Result<Vec<u8>, EnvironmentReadError> {
    let fail = |source| EnvironmentReadError::Io {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(fail)?;
    // the path of the open file, because links may change between a check and the opening
    let real = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(fail)?;
    if is_hidden(&real) {
        let path = path.to_owned();
        return Err(EnvironmentReadError::Hidden { path });
    }
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(EnvironmentReadError::TooLarge {
            path: path.to_owned(),
            max: FILE_BYTES_MAX,
        });
    }
    Ok(bytes)
}

/// A text file up to the size limit; `None` if there is no such file.
pub(super) fn read_if_exists(path: &Path) -> Result<Option<String>, EnvironmentReadError> {
    match read_limited(path) {
        Ok(text) => Ok(Some(text)),
        Err(EnvironmentReadError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
