//! Files of Hiera's global layer. Main functions: [`read`], [`entries`].
//!
//! They belong to the server, not to an environment. Invariant: only what the configuration of
//! that layer names is read ([`GlobalDataPaths`]), and only once for a plan, as a step.

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

    /// Returns true if a path was named, or is below a directory that was.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let goes_up = path.components().any(|part| part == Component::ParentDir);
        match goes_up {
            true => self.0.contains(path),
            false => path.ancestors().any(|path| self.0.contains(path)),
        }
    }
}

/// The content of a file; `None` if there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let failed = |error: io::Error| format!("cannot read {}: {error}", path.display());
    // Before it is opened: opening a pipe would wait for its other end.
    match path.metadata() {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Ok(None),
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    let file = File::open(path).map_err(failed)?;
    let mut content = Vec::new();
    // One byte more than allowed is enough to see that there are too many.
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

/// The entries of a directory, by name, and whether each is a directory; empty if there is none.
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
