//! The files that lookups read: [`Files`].

use std::path::{Path, PathBuf};

use hiera::{DirectoryEntry, FileIdentity, HostError};
use zeroize::Zeroizing;

/// Files of data and configurations. Whoever must see the same data again keeps what was read here.
pub trait Files {
    /// `None` if there is no such file.
    fn identity(&self, path: &Path) -> Option<FileIdentity>;

    /// The text of a file.
    fn read(&self, path: &Path) -> Result<String, HostError>;

    /// What a directory holds, in any order; nothing if there is no such directory.
    fn entries(&self, directory: &Path) -> Vec<DirectoryEntry>;

    /// The global layer names a file, or a directory of files: it counts even for who shows only files of
    /// the environment and its modules.
    fn named_globally(&self, path: &Path) {
        let _ = path;
    }

    /// The directory of a module of the environment.
    fn module_root(&self, module: &str) -> Option<PathBuf>;

    /// The text of a private key. It must not be kept.
    fn key(&self, path: &Path) -> Result<Zeroizing<String>, HostError>;
}
