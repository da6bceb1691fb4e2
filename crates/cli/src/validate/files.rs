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
    /// A plan in YAML.
    pub(super) is_yaml: bool,
}

/// Directories of environments and modules whose files are data, whatever is called `plans` below them.
const DATA_DIRECTORIES: [&str; 4] = ["data", "files", "hieradata", "templates"];

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
        is_yaml: false,
    })
}

fn file(path: &Path) -> Result<Input, Failure> {
    let bytes = std::fs::read(path).map_err(|source| Failure::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(Input {
        name: path.display().to_string(),
        path: Some(path.to_owned()),
        bytes,
        epp: has_extension(path, "epp"),
        in_plans: is_in_plans(path),
        is_yaml: has_extension(path, "yaml"),
    })
}

/// Whether a directory above the file is called `plans`.
fn is_in_plans(path: &Path) -> bool {
    let parent = path.parent();
    parent.is_some_and(|parent| parent.components().any(|part| part.as_os_str() == "plans"))
}

/// Whether a file found in a directory is a plan in YAML; other YAML is data.
fn is_yaml_plan(path: &Path) -> bool {
    let is_data = |name: &str| path.components().any(|part| part.as_os_str() == name);
    has_extension(path, "yaml") && is_in_plans(path) && !DATA_DIRECTORIES.into_iter().any(is_data)
}

/// Every manifest, template and YAML plan below. Hidden directories and links to directories are left out, so
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
        } else if !kind.is_dir()
            && (has_extension(&path, "pp") || has_extension(&path, "epp") || is_yaml_plan(&path))
        {
            found.push(path);
        }
    }
    Ok(())
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension()
        .is_some_and(|extension| extension == wanted)
}
