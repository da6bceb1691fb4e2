//! Requirements on a path: [`Expected`].

use std::path::{Path, PathBuf};

/// Use that a service makes of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is read; a directory is listed.
    Read,
    /// It is read and changed; in a directory, entries are made.
    Write,
}

/// Directory that findings are grouped by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The directory.
    pub path: PathBuf,
    /// True if everything below belongs to the service, so that its owner may be changed.
    pub is_own: bool,
}

/// A path and the requirements on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The path.
    pub path: PathBuf,
    /// Tree that it is in.
    pub tree: Tree,
    /// Use that the service makes of it.
    pub access: Access,
    /// True if other users must not read it.
    pub is_secret: bool,
    /// True if the service refuses it where its mode lets anyone but the owner read it.
    pub is_for_owner_alone: bool,
    /// True if the service cannot do without it.
    pub is_required: bool,
}

// === impl Tree ===

impl Tree {
    /// A directory of the service's own.
    pub fn own(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            is_own: true,
        }
    }

    /// A directory that others manage.
    pub fn foreign(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            is_own: false,
        }
    }

    /// A path in this tree that is read.
    pub fn read(&self, path: impl AsRef<Path>) -> Expected {
        Expected {
            path: self.path.join(path),
            tree: self.clone(),
            access: Access::Read,
            is_secret: false,
            is_for_owner_alone: false,
            is_required: false,
        }
    }

    /// A path in this tree that is changed.
    pub fn write(&self, path: impl AsRef<Path>) -> Expected {
        Expected {
            access: Access::Write,
            ..self.read(path)
        }
    }
}

// === impl Expected ===

impl Expected {
    /// The same, and other users must not read it.
    #[must_use]
    pub fn secret(self) -> Self {
        Self {
            is_secret: true,
            ..self
        }
    }

    /// The same, and the mode must shut out everyone but the owner.
    #[must_use]
    pub fn for_owner_alone(self) -> Self {
        Self {
            is_secret: true,
            is_for_owner_alone: true,
            ..self
        }
    }

    /// The same, and it must be there.
    #[must_use]
    pub fn required(self) -> Self {
        Self {
            is_required: true,
            ..self
        }
    }
}
