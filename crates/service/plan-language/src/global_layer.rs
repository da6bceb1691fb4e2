//! Files of Hiera's global layer. Main functions: [`read`], [`entries`].
//!
//! These files belong to the server, not to an environment. Invariant: only paths that the
//! configuration of that layer names ([`GlobalDataPaths`]) are read, once per plan, as steps.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use environments::defaults::SOURCE_BYTES;

/// The paths that the global layer has named so far.
#[derive(Debug, Default)]
pub(crate) struct GlobalDataPaths(BTreeSet<PathBuf>);

impl GlobalDataPaths {
    pub(crate) fn add(&mut self, path: &Path) {
        if !self.0.contains(path) {
            self.0.insert(path.to_owned());
        }
    }

    /// Returns true if the path was named or is below a named directory. A path with `..` must be
    /// named itself.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let goes_up = path.components().any(|part| part == Component::ParentDir);
        match goes_up {
            true => self.0.contains(path),
            false => path.ancestors().any(|path| self.0.contains(path)),
        }
    }
}

/// Reads a file; `None` if it does not exist or is not a regular file.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let failed = |error: io::Error| format!("cannot read {}: {error}", path.display());
    // Checked before opening, since opening a pipe would wait for its other end.
    match path.metadata() {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Ok(None),
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    let file = File::open(path).map_err(failed)?;
    let mut content = Vec::new();
    // One byte more than allowed is enough to detect that the file is too large.
    let mut file = file.take(SOURCE_BYTES + 1);
    file.read_to_end(&mut content).map_err(failed)?;
    match content.len() as u64 > SOURCE_BYTES {
        true => Err(format!(
            "{} has more than {SOURCE_BYTES} bytes",
            path.display()
        )),
        false => Ok(Some(content)),
    }
}

/// Returns the entries of a directory, sorted by name, with true for directories; empty if it
/// cannot be read.
pub(crate) fn entries(directory: &Path) -> Vec<(String, bool)> {
    let Ok(entries) = directory.read_dir() else {
        return Vec::new();
    };
    let entry = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        Some((name, entry.path().is_dir()))
    };
    let mut entries: Vec<_> = entries.filter_map(|it| entry(it.ok()?)).collect();
    entries.sort();
    entries
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
