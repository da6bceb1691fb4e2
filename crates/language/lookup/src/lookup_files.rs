//! The files that lookups read: [`LookupFiles`].

use std::path::{Path, PathBuf};

use hiera::{DirectoryEntry, FileIdentity, HostError};
use zeroize::Zeroizing;

/// Files of data and configurations. A caller that needs the same data again later keeps the
/// contents that were read here.
pub trait LookupFiles {
    /// The current state of a file; `None` if there is no such file.
    fn identity(&self, path: &Path) -> Option<FileIdentity>;

    /// Reads the text of a file.
    fn read(&self, path: &Path) -> Result<String, HostError>;

    /// The entries of a directory, in any order; empty if there is no such directory.
    fn entries(&self, directory: &Path) -> Vec<DirectoryEntry>;

    /// Notes that the global layer names a file, or a directory of files. It counts even if the
    /// implementation shows only files of the environment and its modules.
    fn note_global_path(&self, path: &Path) {
        let _ = path;
    }

    /// The directory of a module of the environment; `None` if there is no such module.
    fn module_root(&self, module: &str) -> Option<PathBuf>;

    /// Reads the text of a private key. It must not be stored.
    fn key(&self, path: &Path) -> Result<Zeroizing<String>, HostError>;
}
