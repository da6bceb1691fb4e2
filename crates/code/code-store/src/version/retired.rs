//! Removal of versions: [`Versions::retire`], [`Versions::clear_retired`].
//!
//! Invariants: no reader ever sees a part of a version, since it loses its name first; a version without a name
//! is removed step by step, so that waiting work need not wait for all of it.

use std::fs;
use std::io;
use std::path::Path;

use environments::EnvironmentName;
use tokio_util::sync::CancellationToken;

use super::{VersionSignature, Versions, names};
use crate::content::{ContentError, failed};

/// Prefix of the names of retired versions.
const RETIRED: &str = ".retired-";

// === impl Versions ===

impl Versions {
    /// Retires a version by renaming it. The live version stays, and the result is `false`.
    pub fn retire(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> Result<bool, ContentError> {
        if self.live(environment).as_ref() == Some(signature) {
            return Ok(false);
        }
        let path = self.path(environment, signature);
        let place = tempfile::Builder::new()
            .prefix(RETIRED)
            .tempdir_in(&self.versions)
            .map_err(failed("write to", &self.versions))?
            .keep();
        fs::rename(&path, place.join("tree")).map_err(failed("remove", &path))?;
        Ok(true)
    }

    /// Removes retired versions, unless it is interrupted; then the next call continues.
    pub(crate) fn clear_retired(&self, cut: &CancellationToken) -> Result<(), ContentError> {
        for name in names(&self.versions)? {
            if name.starts_with(RETIRED) && !clear(&self.versions.join(name), cut)? {
                break;
            }
        }
        Ok(())
    }
}

/// Removes a directory and its contents; `false` if it was interrupted.
fn clear(directory: &Path, cut: &CancellationToken) -> Result<bool, ContentError> {
    for entry in fs::read_dir(directory).map_err(failed("read", directory))? {
        let entry = entry.map_err(failed("read", directory))?;
        if cut.is_cancelled() {
            return Ok(false);
        }
        let path = entry.path();
        let kind = entry.file_type().map_err(failed("read", &path))?;
        let whole = match kind.is_dir() {
            true => clear(&path, cut)?,
            false => gone(&path, fs::remove_file(&path))?,
        };
        if !whole {
            return Ok(false);
        }
    }
    gone(directory, fs::remove_dir(directory))
}

fn gone(path: &Path, removed: io::Result<()>) -> Result<bool, ContentError> {
    removed.map_err(failed("remove", path))?;
    Ok(true)
}
