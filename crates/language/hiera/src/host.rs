//! What a lookup must know of the world: [`Host`].

use std::path::{Path, PathBuf};

use pcore::{Hash, Value};

use crate::HostError;

/// What tells two states of a file apart. Its fields mean nothing but that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    pub changed_nanoseconds: i128,
}

/// What a directory holds. A link is what it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    pub name: String,
    pub is_directory: bool,
}

/// Files, variables and functions. Everything that a lookup sees comes through here.
pub trait Host {
    /// A variable by its name without `$`, as the code that looks up sees it; `None` if there is none.
    fn variable(&mut self, name: &str) -> Result<Option<Value>, HostError>;

    /// Whether a variable that is not there is a mistake when data name it.
    fn strict_variables(&self) -> bool {
        true
    }

    /// The directory of a module of the environment.
    fn module_root(&mut self, module: &str) -> Option<PathBuf>;

    /// `None` if there is no such file.
    fn identity(&mut self, path: &Path) -> Option<FileIdentity>;

    /// The text of a file.
    fn read(&mut self, path: &Path) -> Result<String, HostError>;

    /// What a directory holds, in any order; nothing if there is no such directory.
    fn entries(&mut self, directory: &Path) -> Vec<DirectoryEntry>;

    /// The global layer names a file, or a directory of files. A host that shows only what is in the
    /// environment and its modules shows this, too: who writes that layer owns the server.
    fn named_globally(&mut self, path: &Path) {
        let _ = path;
    }

    /// Something that is no mistake but should be seen.
    fn warn(&mut self, message: &str);

    /// A function that returns all data of a place. `None` if there is no such function.
    fn data_hash(&mut self, call: &FunctionCall<'_>) -> Option<Result<Value, HostError>> {
        let _ = call;
        None
    }

    /// A function that returns the value of a key; the inner `None` if it has none.
    fn lookup_key(
        &mut self,
        call: &FunctionCall<'_>,
        key: &str,
    ) -> Option<Result<Option<Value>, HostError>> {
        let _ = (call, key);
        None
    }

    /// A function that returns the value of a dotted key, taken apart.
    fn data_dig(
        &mut self,
        call: &FunctionCall<'_>,
        segments: &[Value],
    ) -> Option<Result<Option<Value>, HostError>> {
        let _ = (call, segments);
        None
    }

    /// A text with `ENC[…]` in clear, by the options of the entry of the hierarchy.
    fn decrypt(&mut self, text: &str, options: &Hash) -> Result<String, HostError> {
        let _ = (text, options);
        Err(HostError::text("values cannot be decrypted here"))
    }

    /// The type that a text says, as a value.
    fn type_of(&mut self, text: &str) -> Result<Value, HostError>;

    /// `new(convert_to[0], value, …)`.
    fn convert(&mut self, value: Value, convert_to: &[Value]) -> Result<Value, HostError>;
}

/// A call of a function that an entry of a hierarchy names.
#[derive(Debug, Clone, Copy)]
pub struct FunctionCall<'c> {
    pub function: &'c str,
    /// With `path` or `uri` of the place, if it has one.
    pub options: &'c Hash,
    /// The module whose data are looked up.
    pub module: Option<&'c str>,
    /// The entry of the hierarchy.
    pub entry: &'c str,
    /// The file that the hierarchy stands in.
    pub config: Option<&'c Path>,
}
