//! Version of an environment whose code runs in Ruby. Main type: [`RubyEnvironment`].

use std::path::PathBuf;

/// A version of an environment on the disk. Its files must not change while it is used.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RubyEnvironment {
    pub name: String,
    /// Identity of the contents; another version has processes of its own.
    pub version: String,
    /// Root of the environment.
    pub directory: PathBuf,
    /// Directories of modules in order of precedence (`modulepath`).
    pub module_directories: Vec<PathBuf>,
}
