//! Removal of versions: [`VersionStore::retire`], [`VersionStore::clear_retired`].
//!
//! Invariants: no reader ever sees a part of a version, since it loses its name first; a version
//! without a name is removed in small steps, so that other work need not wait for the whole
//! removal.

use std::fs;
use std::io;
use std::path::Path;

use environments::EnvironmentName;
use tokio_util::sync::CancellationToken;

use super::{VersionSignature, VersionStore, list_names};
use crate::content::{ContentError, content_error};

/// Prefix of the names of retired versions.
const RETIRED: &str = ".retired-";

// === impl VersionStore ===

impl VersionStore {
    /// Retires a version by renaming it. Returns false for the live version, which stays.
    pub fn retire(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> Result<bool, ContentError> {
        if self.live_version(environment).as_ref() == Some(signature) {
            return Ok(false);
        }
        let path = self.path(environment, signature);
        let place = tempfile::Builder::new()
            .prefix(RETIRED)
            .tempdir_in(&self.versions)
            .map_err(content_error("write to", &self.versions))?
            .keep();
        fs::rename(&path, place.join("tree")).map_err(content_error("remove", &path))?;
        Ok(true)
    }

    /// Removes retired versions, unless interrupted; the next call then continues.
    pub(crate) fn clear_retired(&self, cut: &CancellationToken) -> Result<(), ContentError> {
        for name in list_names(&self.versions)? {
            if name.starts_with(RETIRED) && !remove_directory(&self.versions.join(name), cut)? {
                break;
            }
        }
        Ok(())
    }
}

/// Removes a directory and its contents; returns false if interrupted.
fn remove_directory(directory: &Path, cut: &CancellationToken) -> Result<bool, ContentError> {
    for entry in fs::read_dir(directory).map_err(content_error("read", directory))? {
        let entry = entry.map_err(content_error("read", directory))?;
        if cut.is_cancelled() {
            return Ok(false);
        }
        let path = entry.path();
        let kind = entry.file_type().map_err(content_error("read", &path))?;
        let whole = match kind.is_dir() {
            true => remove_directory(&path, cut)?,
            false => is_gone(&path, fs::remove_file(&path))?,
        };
        if !whole {
            return Ok(false);
        }
    }
    is_gone(directory, fs::remove_dir(directory))
}

fn is_gone(path: &Path, removed: io::Result<()>) -> Result<bool, ContentError> {
    removed.map_err(content_error("remove", path))?;
    Ok(true)
}
