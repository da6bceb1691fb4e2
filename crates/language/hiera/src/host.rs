//! The interface through which a lookup accesses files, variables and functions: [`LookupHost`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcore::{Hash, Value};

use crate::HostError;

/// Distinguishes two states of a file. Its fields have no other meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    pub changed_nanoseconds: i128,
}

/// An entry of a directory. A link counts as its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    pub name: String,
    pub is_directory: bool,
}

/// Files, variables and functions. Everything that a lookup reads comes through this trait.
pub trait LookupHost {
    /// The value of a variable by its name without `$`, in the scope of the code that performs the
    /// lookup; `None` if there is none.
    fn variable(&mut self, name: &str) -> Result<Option<Value>, HostError>;

    /// The value of the longest part of a path into the facts that exists, and the number of its names.
    /// `None`: the variable `facts` has to be read as a whole.
    fn fact_at(&mut self, path: &[Arc<str>]) -> Option<(Value, usize)> {
        let _ = path;
        None
    }

    /// True if it is an error when data refer to an undefined variable.
    fn strict_variables(&self) -> bool {
        true
    }

    /// The directory of a module of the environment; `None` if there is no such module.
    fn module_root(&mut self, module: &str) -> Option<PathBuf>;

    /// The current state of a file; `None` if there is no such file.
    fn identity(&mut self, path: &Path) -> Option<FileIdentity>;

    /// Reads the text of a file.
    fn read(&mut self, path: &Path) -> Result<String, HostError>;

    /// The entries of a directory, in any order; empty if there is no such directory.
    fn entries(&mut self, directory: &Path) -> Vec<DirectoryEntry>;

    /// Notes that the global layer names a file, or a directory of files. A host that shows only
    /// the environment and its modules shows these paths, too: the author of that layer owns the
    /// server.
    fn note_global_path(&mut self, path: &Path) {
        let _ = path;
    }

    /// Reports a condition that is not an error but should be seen.
    fn warn(&mut self, message: &str);

    /// Calls a function that returns all data of a location. `None` if there is no such function.
    fn data_hash(&mut self, call: &FunctionCall<'_>) -> Option<Result<Value, HostError>> {
        let _ = call;
        None
    }

    /// Calls a function that returns the value of a key; the inner `None` if it has none.
    fn lookup_key(
        &mut self,
        call: &FunctionCall<'_>,
        key: &str,
    ) -> Option<Result<Option<Value>, HostError>> {
        let _ = (call, key);
        None
    }

    /// Calls a function that returns the value of a dotted key, split into segments.
    fn data_dig(
        &mut self,
        call: &FunctionCall<'_>,
        segments: &[Value],
    ) -> Option<Result<Option<Value>, HostError>> {
        let _ = (call, segments);
        None
    }

    /// Decrypts the `ENC[…]` parts of a text, with the options of the entry of the hierarchy.
    fn decrypt(&mut self, text: &str, options: &Hash) -> Result<String, HostError> {
        let _ = (text, options);
        Err(HostError::text("values cannot be decrypted here"))
    }

    /// The type that a text denotes, as a value.
    fn type_of(&mut self, text: &str) -> Result<Value, HostError>;

    /// Converts a value by `new(convert_to[0], value, …)`.
    fn convert(&mut self, value: Value, convert_to: &[Value]) -> Result<Value, HostError>;
}

/// A call of a function that an entry of a hierarchy names.
#[derive(Debug, Clone, Copy)]
pub struct FunctionCall<'c> {
    pub function: &'c str,
    /// The options of the entry, with `path` or `uri` of the location, if it has one.
    pub options: &'c Hash,
    /// The module whose data are looked up; `None` in the other layers.
    pub module: Option<&'c str>,
    /// Name of the entry of the hierarchy.
    pub entry: &'c str,
    /// The `hiera.yaml` file that contains the hierarchy; `None` if there is no file.
    pub config: Option<&'c Path>,
}
