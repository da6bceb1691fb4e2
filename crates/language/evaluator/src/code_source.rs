//! Read access to the code of an environment: [`CodeSource`].
//!
//! Invariant: an evaluation reads files only through it.

use std::sync::Arc;

/// Read access to the modules and files of an environment: a directory, a snapshot, a store.
pub trait CodeSource {
    /// A module of the environment; `None` if the environment does not have it.
    fn module(&self, name: &str) -> Option<CodeModule>;

    /// The names of all modules.
    fn modules(&self) -> Vec<Arc<str>>;

    /// Reads a file of a module or of the environment itself; `None` if it does not exist. `path`
    /// is relative, separated by slashes, without `..`.
    fn read(&self, owner: CodeOwner<'_>, path: &str) -> Result<Option<SourceFile>, CodeReadError>;
}

/// Owner of a file: the environment itself or one of its modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeOwner<'a> {
    Environment,
    Module(&'a str),
}

#[derive(Debug, Clone)]
pub struct CodeModule {
    pub name: Arc<str>,
    /// Directory of the module, for `module_directory` and messages.
    pub path: Arc<str>,
    /// Modules that its metadata depends on, without their authors; `None` if it has no metadata
    /// and therefore sees all modules.
    pub dependencies: Option<Vec<Arc<str>>>,
}

/// Content of a code file, with its path.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Path shown in messages.
    pub path: Arc<str>,
    pub bytes: Arc<[u8]>,
}

/// Error for a file that exists and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {path}: {cause}")]
pub struct CodeReadError {
    pub path: String,
    pub cause: String,
}
