//! Code that sessions load before their first call: [`PreloadedCode`].

use std::path::PathBuf;

/// Code that further sessions have from the beginning.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PreloadedCode {
    /// Name of a function.
    Function(String),
    /// Path of an ERB template.
    Template(PathBuf),
}
