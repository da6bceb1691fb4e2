//! Reading of the authority's text files, with errors that name the file.

use std::io;
use std::path::Path;

use super::error::CaError;

/// Reads a file; `None` if it does not exist.
pub(super) fn read_optional(path: &Path) -> Result<Option<String>, CaError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(CaError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Reads a file, which must exist.
pub(super) fn read_required(path: &Path) -> Result<String, CaError> {
    std::fs::read_to_string(path).map_err(|source| CaError::Read {
        path: path.to_owned(),
        source,
    })
}
