//! Text files named on the command line. Main function: [`read_limited`].
//!
//! Invariant: no more than [`FILE_BYTES`] are read, and an error names the file.

use std::path::Path;

use crate::CommandFailure;
use crate::defaults::FILE_BYTES;

/// Reads a text file up to the size limit.
///
/// # Errors
/// The file cannot be read, is larger, or is not UTF-8.
pub fn read_limited(path: &Path) -> Result<String, CommandFailure> {
    use std::io::Read as _;
    let fail = |source| CommandFailure::Read {
        path: path.to_owned(),
        source,
    };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(fail)?;
    file.take(FILE_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(fail)?;
    if text.len() as u64 > FILE_BYTES {
        let what = format!("it is larger than {} MiB", FILE_BYTES >> 20);
        return Err(CommandFailure::Content {
            place: path.display().to_string(),
            what,
        });
    }
    Ok(text)
}

/// The same; `None` if there is no such file.
///
/// # Errors
/// Like [`read_limited`].
pub fn read_if_exists(path: &Path) -> Result<Option<String>, CommandFailure> {
    match read_limited(path) {
        Ok(text) => Ok(Some(text)),
        Err(CommandFailure::Read { source, .. })
            if source.kind() == std::io::ErrorKind::NotFound =>
        {
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}
