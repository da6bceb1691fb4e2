//! A directory of a module that is sent to nodes. Main function: [`read`].
//!
//! Invariant: a directory is read completely or not at all, within the bounds of `defaults`. Links
//! out of the module are refused; a cycle of links is not a directory.

use environments::{BlobStore, CodeVersion};
use jobs::TreeItem;
use serde_json::{Value as Json, json};

use crate::defaults::{UPLOAD_ITEMS, UPLOAD_TREE_BYTES};

/// Reads a directory and stores the contents as blobs. `None` if the path is not a directory.
pub(crate) fn read(
    version: &dyn CodeVersion,
    blobs: &BlobStore,
    module: &str,
    path: &str,
) -> Result<Option<Vec<TreeItem>>, String> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let beside = entries(version, module, above)?;
    if !beside.iter().any(|it| it.name == name && it.is_directory) {
        return Ok(None);
    }
    let mut reading = TreeReader {
        version,
        blobs,
        module,
        root: path,
        items: Vec::new(),
        bytes: 0,
    };
    // The list grows while it is read: each directory in it is read in turn.
    reading.directory("")?;
    let mut next = 0;
    while let Some(item) = reading.items.get(next) {
        if item.sha256.is_none() {
            let path = item.path.clone();
            reading.directory(&path)?;
        }
        next += 1;
    }
    Ok(Some(reading.items))
}

fn entries(
    version: &dyn CodeVersion,
    module: &str,
    path: &str,
) -> Result<Vec<environments::CodeDirectoryEntry>, String> {
    let entries = version.entries(Some(module), path);
    entries.map_err(|error| error.to_string())
}

struct TreeReader<'a> {
    version: &'a dyn CodeVersion,
    blobs: &'a BlobStore,
    module: &'a str,
    root: &'a str,
    items: Vec<TreeItem>,
    bytes: u64,
}

impl TreeReader<'_> {
    fn directory(&mut self, relative: &str) -> Result<(), String> {
        let below = |name: &str| match relative {
            "" => name.to_owned(),
            relative => format!("{relative}/{name}"),
        };
        let full = match relative {
            "" => self.root.to_owned(),
            relative => format!("{}/{relative}", self.root),
        };
        for entry in entries(self.version, self.module, &full)? {
            let path = below(&entry.name);
            let sha256 = match entry.is_directory {
                true => None,
                false => Some(self.file(&path)?),
            };
            self.items.push(TreeItem {
                path,
                sha256,
                is_executable: entry.is_executable,
            });
            if self.items.len() > UPLOAD_ITEMS {
                return Err(self.limit_message(&format!("{UPLOAD_ITEMS} files and directories")));
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &str) -> Result<environments::Sha256, String> {
        let full = format!("{}/{path}", self.root);
        let source = self.version.source(Some(self.module), &full);
        let source = source.map_err(|error| error.to_string())?;
        let source = source
            .ok_or_else(|| format!("{}/{full} is gone, or a link to nothing", self.module))?;
        self.bytes += source.content.len() as u64;
        if self.bytes > UPLOAD_TREE_BYTES {
            return Err(self.limit_message(&format!("{UPLOAD_TREE_BYTES} bytes")));
        }
        let kept = self.blobs.store_content(&source.content, &full);
        kept.map_err(|error| error.to_string())
    }

    fn limit_message(&self, limit: &str) -> String {
        let (module, root) = (self.module, self.root);
        format!("{module}/{root} has more than {limit}, which is too much to be sent")
    }
}

/// The form in the journal.
pub(crate) fn to_journal_json(items: &[TreeItem]) -> Json {
    let told = |item: &TreeItem| {
        let sha256 = item.sha256.map(|sha256| sha256.to_string());
        json!([item.path, sha256, item.is_executable])
    };
    items.iter().map(told).collect()
}

/// Reads the form in the journal; `None` if the path was not a directory.
pub(crate) fn from_journal_json(told: &Json) -> Result<Option<Vec<TreeItem>>, String> {
    let Some(told) = told.as_array() else {
        return Ok(None);
    };
    let item = |told: &Json| {
        let sha256 = match told[1].as_str() {
            Some(text) => Some(text.parse().ok()?),
            None => None,
        };
        Some(TreeItem {
            path: told[0].as_str()?.to_owned(),
            sha256,
            is_executable: told[2].as_bool()?,
        })
    };
    let items: Option<Vec<TreeItem>> = told.iter().map(item).collect();
    let items = items.ok_or("what the journal has of a directory cannot be read")?;
    Ok(Some(items))
}
