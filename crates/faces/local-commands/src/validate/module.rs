//! Finds the module that a file is in. Main type: [`ModuleRoot`].
//!
//! Invariant: a module is the nearest parent directory with a `metadata.json` that names it,
//! whatever the name of the directory, since repositories of modules have the owner in their names.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The absolute directory of a module, and the module's name.
#[derive(Debug)]
pub(super) struct ModuleRoot {
    directory: PathBuf,
    pub(super) name: String,
}

/// Cache of directories with their modules.
#[derive(Debug, Default)]
pub(super) struct ModuleRoots {
    by_directory: HashMap<PathBuf, Option<Arc<ModuleRoot>>>,
}

impl ModuleRoots {
    /// The module of a file, whose path is absolute.
    pub(super) fn module_of(&mut self, file: &Path) -> Option<Arc<ModuleRoot>> {
        let directory = file.parent()?;
        if let Some(known) = self.by_directory.get(directory) {
            return known.clone();
        }
        let found = directory.ancestors().find_map(read).map(Arc::new);
        self.by_directory
            .insert(directory.to_owned(), found.clone());
        found
    }
}

impl ModuleRoot {
    /// The path of a file relative to the module.
    pub(super) fn relative_path<'a>(&self, file: &'a Path) -> Option<&'a Path> {
        file.strip_prefix(&self.directory).ok()
    }
}

fn read(directory: &Path) -> Option<ModuleRoot> {
    let bytes = std::fs::read(directory.join("metadata.json")).ok()?;
    let metadata: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let name = metadata.get("name")?.as_str()?.rsplit(['-', '/']).next()?;
    let is_word = name
        .bytes()
        .all(|it| it.is_ascii_alphanumeric() || it == b'_');
    (is_word && !name.is_empty()).then(|| ModuleRoot {
        directory: directory.to_owned(),
        name: name.to_owned(),
    })
}
