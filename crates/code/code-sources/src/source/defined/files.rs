//! The files of a list: [`one`], [`all`].
//!
//! The rule that must hold: only files are read, and no more of them than their bounds.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::definition::{DefinedError, Document};
use crate::defaults::{SOURCE_BYTES, SOURCE_FILES};

/// How the files of a directory end.
const ENDING: &str = ".yaml";

/// One file.
pub(super) fn one(path: &Path) -> Result<Document, DefinedError> {
    read(path, SOURCE_BYTES).map(|(document, _)| document)
}

/// The files of a directory, with the names that they give.
pub(super) fn all(directory: &Path) -> Result<Vec<(String, Document)>, DefinedError> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed(directory))? {
        let name = entry.map_err(failed(directory))?.file_name();
        let Some(name) = name.to_str() else {
            continue;
        };
        // What begins with a dot is another program's; so r10k has it.
        if name.ends_with(ENDING) && !name.starts_with('.') {
            names.push(name.to_owned());
        }
        if names.len() > SOURCE_FILES {
            let why = format!("has more than {SOURCE_FILES} files");
            return Err(wrong(directory, why));
        }
    }
    names.sort();
    let mut left = SOURCE_BYTES;
    let mut lists = Vec::with_capacity(names.len());
    for name in names {
        let (document, size) = read(&directory.join(&name), left)?;
        left = left.saturating_sub(size);
        let name = name.strip_suffix(ENDING).unwrap_or(&name).to_owned();
        lists.push((name, document));
    }
    Ok(lists)
}

/// A file, and how many bytes it has.
fn read(path: &Path, most: usize) -> Result<(Document, usize), DefinedError> {
    // To open a pipe would wait for whoever writes to it.
    let metadata = std::fs::metadata(path).map_err(failed(path))?;
    if !metadata.is_file() {
        return Err(wrong(path, "is no file"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed(path))?;
    let mut file = file.take(most as u64 + 1);
    file.read_to_end(&mut bytes).map_err(failed(path))?;
    let size = bytes.len();
    if size > most {
        let why = format!("is too large: such lists may have {SOURCE_BYTES} bytes in all");
        return Err(wrong(path, why));
    }
    Ok((Document::new(path.display().to_string(), bytes)?, size))
}

fn wrong(path: &Path, why: impl Into<String>) -> DefinedError {
    DefinedError::Document {
        place: path.display().to_string(),
        why: why.into(),
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> DefinedError {
    let path = path.to_owned();
    move |source| DefinedError::Read { path, source }
}
