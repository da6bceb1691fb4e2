//! Text files named on the command line. Main function: [`read_limited`].
//!
//! Invariant: no more than [`FILE_BYTES`] are read, and an error names the file.

use std::fmt::Display;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::defaults::FILE_BYTES;
use crate::{CommandFailure, Result};

/// Reads a text file up to the size limit.
///
/// # Errors
/// The file cannot be read, is larger, or is not UTF-8.
pub fn read_limited(path: &Path) -> Result<String> {
    use std::io::Read as _;
    let fail = CommandFailure::read(path);
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(&fail)?;
    file.take(FILE_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(fail)?;
    if text.len() as u64 > FILE_BYTES {
        let what = format!("it is larger than {} MiB", FILE_BYTES >> 20);
        return Err(CommandFailure::content(path.display(), what));
    }
    Ok(text)
}

/// The same; `None` if there is no such file.
///
/// # Errors
/// Like [`read_limited`].
pub fn read_if_exists(path: &Path) -> Result<Option<String>> {
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

/// Parses JSON; an error names `place`.
pub(crate) fn parse_json<T: DeserializeOwned>(place: impl Display, text: &str) -> Result<T> {
    decode_errors::json::from_str(text)
        .map_err(|error| CommandFailure::content(place, error.to_string()))
}

/// The value of an option, or with `@FILE` the content of that file, with the place for errors.
pub(crate) fn text_or_file(option: &str, text: &str) -> Result<(String, String)> {
    match text.strip_prefix('@') {
        Some(path) => Ok((path.to_owned(), read_limited(Path::new(path))?)),
        None => Ok((option.to_owned(), text.to_owned())),
    }
}
