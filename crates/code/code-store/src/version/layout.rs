//! The content of a version, combined from trees. Main type: [`VersionLayout`].
//!
//! Invariant: the files in a module's directory come from that module alone. All other files of the
//! control repository are kept, as r10k keeps everything that is in a commit.

use std::collections::BTreeMap;

use crate::content::{TreeEntry, TreeManifest, TreePath, TreePathError};

/// Files and links of a version, by path.
#[derive(Debug, Default)]
pub struct VersionLayout {
    entries: BTreeMap<TreePath, TreeEntry>,
    written: BTreeMap<TreePath, Vec<u8>>,
    /// Directories of the control repository that were replaced by modules, for messages.
    omitted_directories: Vec<String>,
}

/// A module's tree and its place in the version.
#[derive(Debug)]
pub struct LayoutPart<'m> {
    /// Directory for the tree, relative to the environment.
    pub directory: String,
    /// Manifest of the tree.
    pub manifest: &'m TreeManifest,
    /// True to omit its `spec` directory.
    pub exclude_spec: bool,
}

/// Reason that trees cannot be combined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// A path is too long.
    #[error(transparent)]
    Path(#[from] TreePathError),
    /// A file or link is where a module's directory must be.
    #[error("{0} is a file or a link, and a module is to go there or below it")]
    Blocked(TreePath),
}

// === impl VersionLayout ===

impl VersionLayout {
    /// Combines the control repository's files with modules in their directories.
    pub fn new(control: &TreeManifest, parts: &[LayoutPart<'_>]) -> Result<Self, LayoutError> {
        let mut layout = Self::default();
        let taken: Vec<&str> = parts.iter().map(|part| part.directory.as_str()).collect();
        for (path, entry) in control.entries() {
            match taken
                .iter()
                .find(|directory| path.is_below(directory.as_bytes()))
            {
                Some(directory) => layout.note_omitted(directory),
                None => drop(layout.entries.insert(path.clone(), entry.clone())),
            }
        }
        for part in parts {
            layout.add(part)?;
        }
        layout.check()?;
        Ok(layout)
    }

    fn add(&mut self, part: &LayoutPart<'_>) -> Result<(), LayoutError> {
        for (path, entry) in part.manifest.entries() {
            if part.exclude_spec && path.is_below(b"spec") {
                continue;
            }
            let whole = [part.directory.as_bytes(), b"/", path.as_bytes()].concat();
            self.entries.insert(TreePath::new(&whole)?, entry.clone());
        }
        Ok(())
    }

    fn note_omitted(&mut self, directory: &str) {
        if self
            .omitted_directories
            .last()
            .is_none_or(|last| last != directory)
        {
            self.omitted_directories.push(directory.to_owned());
        }
    }

    fn check(&self) -> Result<(), LayoutError> {
        for path in self.paths() {
            let mut above = path.parents();
            if let Some((blocked, _)) = above.find_map(|parent| self.entries.get_key_value(parent))
            {
                return Err(LayoutError::Blocked(blocked.clone()));
            }
        }
        Ok(())
    }

    /// Adds a file that is generated for the version.
    pub fn write(&mut self, path: TreePath, bytes: Vec<u8>) {
        self.entries.remove(&path);
        self.written.insert(path, bytes);
    }

    /// Removes the entry at this path, if the trees have one.
    pub fn exclude(&mut self, path: &[u8]) {
        self.entries.remove(path);
    }

    /// Returns the entries that come from trees.
    pub fn entries(&self) -> impl Iterator<Item = (&TreePath, &TreeEntry)> {
        self.entries.iter()
    }

    /// Returns the files generated for the version, with their contents.
    pub fn written_files(&self) -> impl Iterator<Item = (&TreePath, &Vec<u8>)> {
        self.written.iter()
    }

    pub fn paths(&self) -> impl Iterator<Item = &TreePath> {
        self.entries.keys().chain(self.written.keys())
    }

    /// Returns the directories of the control repository that are not in the version, since modules
    /// replace them.
    pub fn omitted_directories(&self) -> &[String] {
        &self.omitted_directories
    }
}
