//! Reservation of the removal of versions for a server. Main functions: [`claim`], [`is_claimed`].
//!
//! A server knows which versions plans and pins need; a local command does not. Invariant: in a
//! directory in which a server ever deployed, only a server removes versions.

use std::io;
use std::path::Path;

use crate::content::{ContentError, content_error};

const CLAIM_FILE: &str = "of-a-server";
const CLAIM_TEXT: &str =
    "A server keeps versions here that its plans need; only it removes old ones.\n";

/// Reserves the versions in this directory for a server.
pub fn claim(directory: &Path) -> Result<(), ContentError> {
    let path = directory.join(CLAIM_FILE);
    std::fs::write(&path, CLAIM_TEXT).map_err(content_error("write to", &path))
}

/// True if a server deployed in this directory, or if that cannot be determined.
pub fn is_claimed(directory: &Path) -> bool {
    let found = std::fs::symlink_metadata(directory.join(CLAIM_FILE));
    !matches!(found, Err(error) if error.kind() == io::ErrorKind::NotFound)
}
