//! Hashes of the types that `puppet generate types` generated for a version. Main functions:
//! [`write_generated_types_list`], [`damaged_types`].
//!
//! No repository contains these files, so the version contains a list of them. Invariant: a version
//! with a list is whole only if each listed file has the listed hash. Versions built before lists
//! existed have none, and their types are not compared.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::content::{ContentError, ContentHash, content_error, hash_object};

/// Name of the list, beside the lock of the version.
pub const GENERATED_FILE: &str = ".tutti-generated-types.json";

/// Directory of an environment to which Puppet writes generated types.
const TYPES_DIRECTORY: &str = ".resource_types";

/// Hash of each file, by its path below the version's directory.
type GeneratedTypes = BTreeMap<String, String>;

/// Writes the list of the types in the directory of a new version. Blocks.
pub fn write_generated_types_list(root: &Path) -> Result<(), ContentError> {
    let mut types = GeneratedTypes::new();
    let mut directories = vec![PathBuf::from(TYPES_DIRECTORY)];
    while let Some(directory) = directories.pop() {
        let path = root.join(&directory);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            // No module has its own types.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(content_error("read", &path)(error)),
        };
        for entry in entries {
            let entry = entry.map_err(content_error("read", &path))?;
            let relative = directory.join(entry.file_name());
            let kind = entry.file_type().map_err(content_error("read", &path))?;
            if kind.is_dir() {
                directories.push(relative);
            } else if let Some(name) = relative.to_str() {
                let hash =
                    hash_object(&entry.path()).map_err(content_error("read", &entry.path()))?;
                types.insert(name.to_owned(), hash.to_string());
            }
        }
    }
    let list = root.join(GENERATED_FILE);
    let text = serde_json::to_vec(&types)
        .map_err(|error| content_error("write to", &list)(error.into()))?;
    let mut file = File::create_new(&list).map_err(content_error("write to", &list))?;
    file.write_all(&text)
        .map_err(content_error("write to", &list))
}

/// Returns the paths of generated types that are missing or different; the path of the list, if it
/// cannot be read. Blocks.
pub(super) fn damaged_types(root: &Path) -> Vec<String> {
    let text = match fs::read(root.join(GENERATED_FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(_) => return vec![GENERATED_FILE.to_owned()],
    };
    let Ok(types) = serde_json::from_slice::<GeneratedTypes>(&text) else {
        return vec![GENERATED_FILE.to_owned()];
    };
    let is_damaged = |(path, hash): &(String, String)| {
        let expected = hash.parse::<ContentHash>().ok();
        expected.is_none() || hash_object(&root.join(path)).ok() != expected
    };
    let damaged = types.into_iter().filter(is_damaged);
    damaged.map(|(path, _)| path).collect()
}
