//! Requirements on a path: [`PathExpectation`].

use std::path::{Path, PathBuf};

/// The access that a service needs to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAccess {
    /// Reading; for a directory, listing it.
    Read,
    /// Reading and writing; for a directory, creating entries.
    Write,
}

/// Directory by which findings are grouped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedTree {
    /// Path of the directory.
    pub path: PathBuf,
    /// True if all files below belong to the service, so that their owner may be changed.
    pub is_own: bool,
}

/// A path and the requirements on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathExpectation {
    /// The path that is checked.
    pub path: PathBuf,
    /// Tree that contains the path.
    pub tree: CheckedTree,
    /// Access that the service needs.
    pub access: FileAccess,
    /// True if other users must not read the path.
    pub is_secret: bool,
    /// True if the service refuses the path if its mode allows a user other than the owner to read
    /// it.
    pub is_for_owner_alone: bool,
    /// True if the service cannot run without it.
    pub is_required: bool,
}

// === impl CheckedTree ===

impl CheckedTree {
    /// Creates the tree of a directory that belongs to the service.
    pub fn own(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            is_own: true,
        }
    }

    /// Creates the tree of a directory that others manage.
    pub fn foreign(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            is_own: false,
        }
    }

    /// A path in this tree that the service reads.
    pub fn read(&self, path: impl AsRef<Path>) -> PathExpectation {
        PathExpectation {
            path: self.path.join(path),
            tree: self.clone(),
            access: FileAccess::Read,
            is_secret: false,
            is_for_owner_alone: false,
            is_required: false,
        }
    }

    /// A path in this tree that the service writes.
    pub fn write(&self, path: impl AsRef<Path>) -> PathExpectation {
        PathExpectation {
            access: FileAccess::Write,
            ..self.read(path)
        }
    }
}

// === impl PathExpectation ===

impl PathExpectation {
    /// Adds the requirement that other users must not read the path.
    #[must_use]
    pub fn secret(self) -> Self {
        Self {
            is_secret: true,
            ..self
        }
    }

    /// Adds the requirement that the mode allows access only to the owner.
    #[must_use]
    pub fn with_owner_only(self) -> Self {
        Self {
            is_secret: true,
            is_for_owner_alone: true,
            ..self
        }
    }

    /// Adds the requirement that the path exists.
    #[must_use]
    pub fn required(self) -> Self {
        Self {
            is_required: true,
            ..self
        }
    }
}
