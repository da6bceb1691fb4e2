//! The module that a file is in, found from inside it. Main type: [`ModuleRoot`].
//!
//! The rule: a module is the nearest directory above with a `metadata.json` that names it, whatever the directory is
//! called, since repositories of modules have the owner in their names.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A module's directory, absolute, and its name.
#[derive(Debug)]
pub(super) struct ModuleRoot {
    directory: PathBuf,
    pub(super) name: String,
}

/// Directories of which it is known in which module they are.
#[derive(Debug, Default)]
pub(super) struct ModuleRoots {
    by_directory: HashMap<PathBuf, Option<Arc<ModuleRoot>>>,
}

impl ModuleRoots {
    /// The module of a file, whose path is absolute.
    pub(super) fn of(&mut self, file: &Path) -> Option<Arc<ModuleRoot>> {
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
    pub(super) fn below<'a>(&self, file: &'a Path) -> Option<&'a Path> {
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
