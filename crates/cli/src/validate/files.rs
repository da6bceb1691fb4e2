//! What is checked: files, what directories hold, standard input. Main function: [`inputs`].

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::Options;
use crate::Failure;
use crate::defaults::SOURCE_DEPTH_MAX;

/// One source.
pub(super) struct Input {
    /// As messages show it.
    pub(super) name: String,
    pub(super) path: Option<PathBuf>,
    pub(super) bytes: Vec<u8>,
    pub(super) epp: bool,
    pub(super) in_plans: bool,
}

/// Reads all, in the order of the command line; those of a directory by name.
pub(super) fn inputs(options: &Options) -> Result<Vec<Input>, Failure> {
    let mut inputs = Vec::new();
    for path in &options.paths {
        if path.as_os_str() == "-" {
            inputs.push(standard_input(options.epp)?);
            continue;
        }
        let failed = |source| Failure::Read {
            path: path.clone(),
            source,
        };
        if std::fs::metadata(path).map_err(failed)?.is_dir() {
            let mut found = Vec::new();
            collect(path, 0, &mut found)?;
            found.sort();
            for path in found {
                inputs.push(file(&path)?);
            }
        } else {
            inputs.push(file(path)?);
        }
    }
    Ok(inputs)
}

fn standard_input(epp: bool) -> Result<Input, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|source| Failure::Read {
            path: "-".into(),
            source,
        })?;
    Ok(Input {
        name: "-".to_owned(),
        path: None,
        bytes,
        epp,
        in_plans: false,
    })
}

fn file(path: &Path) -> Result<Input, Failure> {
    let bytes = std::fs::read(path).map_err(|source| Failure::Read {
        path: path.to_owned(),
        source,
    })?;
    let in_plans = path
        .parent()
        .is_some_and(|parent| parent.components().any(|part| part.as_os_str() == "plans"));
    Ok(Input {
        name: path.display().to_string(),
        path: Some(path.to_owned()),
        bytes,
        epp: has_extension(path, "epp"),
        in_plans,
    })
}

/// Every manifest and template below. Hidden directories and links to directories are left out, so
/// this ends.
fn collect(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed = |source| Failure::Read {
        path: directory.to_owned(),
        source,
    };
    if depth >= SOURCE_DEPTH_MAX {
        return Ok(());
    }
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let kind = entry.file_type().map_err(failed)?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if kind.is_dir() && !hidden {
            collect(&path, depth + 1, found)?;
        } else if !kind.is_dir() && (has_extension(&path, "pp") || has_extension(&path, "epp")) {
            found.push(path);
        }
    }
    Ok(())
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension()
        .is_some_and(|extension| extension == wanted)
}
