//! The files of a list. Main functions: [`read_definition_file`], [`read_definition_directory`].
//!
//! Invariant: only regular files are read, and at most up to the limits.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::definition::{DefinitionDocument, DefinitionListError};
use crate::defaults::{SOURCE_BYTES, SOURCE_FILES};

/// Extension of the files of a directory.
const ENDING: &str = ".yaml";

/// Reads one file.
pub(super) fn read_definition_file(path: &Path) -> Result<DefinitionDocument, DefinitionListError> {
    read(path, SOURCE_BYTES).map(|(document, _)| document)
}

/// Reads the files of a directory, with the names that they define.
pub(super) fn read_definition_directory(
    directory: &Path,
) -> Result<Vec<(String, DefinitionDocument)>, DefinitionListError> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(unreadable_file(directory))? {
        let name = entry.map_err(unreadable_file(directory))?.file_name();
        let Some(name) = name.to_str() else {
            continue;
        };
        // As in r10k, a name that begins with a dot belongs to another program.
        if name.ends_with(ENDING) && !name.starts_with('.') {
            names.push(name.to_owned());
        }
        if names.len() > SOURCE_FILES {
            let why = format!("has more than {SOURCE_FILES} files");
            return Err(invalid_file(directory, why));
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

/// Reads a file, and returns its number of bytes too.
fn read(path: &Path, most: usize) -> Result<(DefinitionDocument, usize), DefinitionListError> {
    // Opening a pipe would block until it is opened for writing.
    let metadata = std::fs::metadata(path).map_err(unreadable_file(path))?;
    if !metadata.is_file() {
        return Err(invalid_file(path, "is no file"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable_file(path))?;
    let mut file = file.take(most as u64 + 1);
    file.read_to_end(&mut bytes)
        .map_err(unreadable_file(path))?;
    let size = bytes.len();
    if size > most {
        let why = format!("is too large: such lists may have {SOURCE_BYTES} bytes in all");
        return Err(invalid_file(path, why));
    }
    Ok((
        DefinitionDocument::new(path.display().to_string(), bytes)?,
        size,
    ))
}

fn invalid_file(path: &Path, why: impl Into<String>) -> DefinitionListError {
    DefinitionListError::Document {
        place: path.display().to_string(),
        why: why.into(),
    }
}

fn unreadable_file(path: &Path) -> impl FnOnce(io::Error) -> DefinitionListError {
    let path = path.to_owned();
    move |source| DefinitionListError::Read { path, source }
}
