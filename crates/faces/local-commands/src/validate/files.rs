//! Collects the sources to check: files, the content of directories, standard input. Main function:
//! [`read_inputs`].

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::module::{ModuleRoot, ModuleRoots};
use super::{CheckedLanguage, ValidateOptions};
use crate::defaults::SOURCE_DEPTH_MAX;
use cli::CommandFailure;

/// A source to check.
pub(super) struct SourceInput {
    /// The name shown in messages.
    pub(super) name: String,
    pub(super) path: Option<PathBuf>,
    /// The module of the file, and the path in that module.
    pub(super) module: Option<(Arc<ModuleRoot>, PathBuf)>,
    pub(super) bytes: Vec<u8>,
    pub(super) epp: bool,
    pub(super) in_plans: bool,
    pub(super) language: CheckedLanguage,
    /// The path in its module, if the file is a Ruby function.
    pub(super) ruby_function: Option<String>,
}

/// Directories of modules in which files are loaded by name.
const KINDS: [&str; 4] = ["manifests", "functions", "types", "plans"];

/// Directories of environments and modules whose files are data, even in a directory `plans` below
/// them.
const DATA_DIRECTORIES: [&str; 4] = ["data", "files", "hieradata", "templates"];

/// Reads all sources, in the order of the command line; those of a directory are sorted by name.
pub(super) fn read_inputs(options: &ValidateOptions) -> Result<Vec<SourceInput>, CommandFailure> {
    let mut inputs = Vec::new();
    let mut modules = ModuleRoots::default();
    for path in &options.paths {
        if path.as_os_str() == "-" {
            inputs.push(read_standard_input(options)?);
            continue;
        }
        let failed = |source| CommandFailure::Read {
            path: path.clone(),
            source,
        };
        if std::fs::metadata(path).map_err(failed)?.is_dir() {
            let mut found = Vec::new();
            collect(path, 0, &mut found)?;
            found.sort();
            for path in found {
                let place = FileLocation::classify_path(&path, &mut modules)?;
                let is_checked = match language(&path) {
                    CheckedLanguage::Puppet if has_extension(&path, "rb") => {
                        ruby_function(&path).is_some()
                    }
                    CheckedLanguage::Puppet => true,
                    CheckedLanguage::YamlPlan => place.is_yaml_plan(&path),
                    CheckedLanguage::TaskMetadata => is_in_tasks(&path),
                };
                if is_checked {
                    inputs.push(read_file(&path, place)?);
                }
            }
        } else {
            let place = FileLocation::classify_path(path, &mut modules)?;
            inputs.push(read_file(path, place)?);
        }
    }
    Ok(inputs)
}

fn read_standard_input(options: &ValidateOptions) -> Result<SourceInput, CommandFailure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|source| CommandFailure::Read {
            path: "-".into(),
            source,
        })?;
    Ok(SourceInput {
        name: "-".to_owned(),
        path: None,
        module: None,
        bytes,
        epp: options.epp,
        in_plans: false,
        language: match options.yaml {
            true => CheckedLanguage::YamlPlan,
            false => CheckedLanguage::Puppet,
        },
        ruby_function: None,
    })
}

fn read_file(path: &Path, place: FileLocation) -> Result<SourceInput, CommandFailure> {
    let bytes = std::fs::read(path).map_err(|source| CommandFailure::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(SourceInput {
        name: path.display().to_string(),
        path: Some(path.to_owned()),
        module: place.module,
        bytes,
        epp: has_extension(path, "epp"),
        in_plans: place.in_plans,
        language: language(path),
        ruby_function: ruby_function(path),
    })
}

/// The location of a file.
struct FileLocation {
    module: Option<(Arc<ModuleRoot>, PathBuf)>,
    in_plans: bool,
}

impl FileLocation {
    fn classify_path(path: &Path, modules: &mut ModuleRoots) -> Result<Self, CommandFailure> {
        let full = std::path::absolute(path).map_err(|source| CommandFailure::Read {
            path: path.to_owned(),
            source,
        })?;
        // Resolves `.` and `..`; a path that cannot be resolved is used as written.
        let full = full.canonicalize().unwrap_or(full);
        let module = modules.module_of(&full).and_then(|module| {
            let below = module.relative_path(&full)?.to_owned();
            Some((module, below))
        });
        let in_plans = match &module {
            Some((_, below)) => below.starts_with("plans"),
            None => is_in_plans(&full),
        };
        Ok(Self { module, in_plans })
    }

    /// True if a YAML file found in a directory is a plan; other YAML is data.
    fn is_yaml_plan(&self, path: &Path) -> bool {
        let is_data = |name: &str| path.components().any(|part| part.as_os_str() == name);
        let is_known = self.module.is_some();
        self.in_plans && (is_known || !DATA_DIRECTORIES.into_iter().any(is_data))
    }
}

/// The path in its module of a Ruby function that a built-in function replaces.
fn ruby_function(path: &Path) -> Option<String> {
    let full = std::path::absolute(path).ok()?;
    let text = full.to_str()?;
    let starts = stdlib::RUBY_FUNCTION_DIRECTORIES
        .iter()
        .filter_map(|directory| text.rfind(&format!("/{directory}/")));
    let below = &text[starts.max()? + 1..];
    // Files with other names are not built-in functions.
    stdlib::replaced_function(below, b"").map(|_| below.to_owned())
}

/// True if `plans` is the nearest parent directory that determines the kind of the file.
fn is_in_plans(full: &Path) -> bool {
    let mut above = full.ancestors().skip(1).filter_map(Path::file_name);
    let nearest = above.find(|name| KINDS.iter().any(|kind| *kind == *name));
    nearest.is_some_and(|name| name == "plans")
}

/// Collects all manifests, templates, YAML and JSON files. Hidden directories and links to
/// directories are left out, so that the search ends.
fn collect(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), CommandFailure> {
    let failed = |source| CommandFailure::Read {
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
            && ["pp", "epp", "yaml", "yml", "json", "rb"]
                .iter()
                .any(|kind| has_extension(&path, kind))
        {
            found.push(path);
        }
    }
    Ok(())
}

/// The language of a file, by its extension.
fn language(path: &Path) -> CheckedLanguage {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("yaml" | "yml") => CheckedLanguage::YamlPlan,
        Some("json") => CheckedLanguage::TaskMetadata,
        _ => CheckedLanguage::Puppet,
    }
}

/// True if a JSON file is the metadata of a task: it is in the directory `tasks` itself.
fn is_in_tasks(path: &Path) -> bool {
    let directory = path.parent().and_then(Path::file_name);
    directory.is_some_and(|name| name == "tasks")
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension()
        .is_some_and(|extension| extension == wanted)
}
