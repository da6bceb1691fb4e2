//! What code is to its users: [`Code`], [`CodeVersion`], [`Task`].

use std::fmt::Debug;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcore::Type;
use pxp::action::{FilePath, Sha256};
use pxp::task::TaskName;

use crate::{CodeError, EnvironmentName, Mount, Plan, PlanName, PlanSummary, TaskMetadata};

/// All environments.
pub trait Code: Debug + Send + Sync {
    /// Those that exist now, by name.
    fn environments(&self) -> Result<Vec<EnvironmentName>, CodeError>;

    /// The present version of an environment. Whoever needs several things that belong together
    /// takes this once.
    fn version(&self, environment: &EnvironmentName) -> Result<Arc<dyn CodeVersion>, CodeError>;

    /// The version that this code id names, however old; the present one where nobody says.
    fn version_of(
        &self,
        environment: &EnvironmentName,
        code_id: Option<&str>,
    ) -> Result<Arc<dyn CodeVersion>, CodeError>;
}

/// One environment.
pub trait CodeVersion: Debug + Send + Sync {
    /// Its name.
    fn environment(&self) -> &EnvironmentName;

    /// Where it is.
    fn directory(&self) -> &Path;

    /// What names this version for ever; `None`: the code may change at any time.
    fn code_id(&self) -> Option<&str>;

    /// All tasks, by name.
    fn tasks(&self) -> Result<Vec<TaskSummary>, CodeError>;

    /// One task, with the hashes of all its files as they are now.
    fn task(&self, name: &TaskName) -> Result<Task, CodeError>;

    /// All plans, by name.
    fn plans(&self) -> Result<Vec<PlanSummary>, CodeError>;

    /// One plan, as its file is now.
    fn plan(&self, name: &PlanName) -> Result<Plan, CodeError>;

    /// The type alias of this name, from Tutti's own, puppetlabs-stdlib's or the files `types/*.pp` of
    /// modules and the environment. `None` if there is none, or its file cannot be used.
    fn type_alias(&self, name: &str) -> Option<Type>;

    /// The modules, by name.
    fn modules(&self) -> Result<Vec<Module>, CodeError>;

    /// One module; `None`: there is none of that name.
    fn module(&self, name: &str) -> Result<Option<Module>, CodeError>;

    /// A file that is to be evaluated: of a module, or of the environment itself where `module` is
    /// `None`. `path` is relative to its directory. `None`: there is no such file.
    fn source(&self, module: Option<&str>, path: &str) -> Result<Option<Source>, CodeError>;

    /// What a directory of a module or of the environment holds, by name; nothing if there is no such
    /// directory. `path` is as for [`source`](Self::source).
    fn entries(&self, module: Option<&str>, path: &str) -> Result<Vec<Entry>, CodeError>;

    /// A file as nodes ask for it. `module` is `None` for [`Mount::Plugins`] only; `path` is
    /// relative to the module's directory of that mount, not percent-encoded.
    fn file(&self, mount: Mount, module: Option<&str>, path: &str) -> Result<CodeFile, CodeError>;
}

/// A module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub directory: PathBuf,
    /// The modules that its `metadata.json` names, without their owners; `None`: it has no such file,
    /// and may use all.
    pub dependencies: Option<Vec<String>>,
}

/// A file that is to be evaluated, as it was when it was read.
#[derive(Clone, Debug)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// Its content.
    pub content: Vec<u8>,
}

/// What a directory holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Whether it is a directory, or a link to one.
    pub is_directory: bool,
    /// Whether it is a file that its owner may execute.
    pub is_executable: bool,
}

/// A task in a list.
#[derive(Clone, Debug)]
pub struct TaskSummary {
    /// Its name.
    pub name: TaskName,
    /// From its metadata.
    pub description: Option<String>,
    /// Not for lists that people see.
    pub private: bool,
    /// Why it cannot be run as it is.
    pub problem: Option<CodeError>,
}

/// A task that can be run.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its name.
    pub name: TaskName,
    /// The default metadata for a task that has none.
    pub metadata: TaskMetadata,
    /// What can be run comes first, in the order of the metadata's implementations.
    pub files: Vec<TaskFile>,
}

/// A file of a task.
#[derive(Clone, Debug)]
pub struct TaskFile {
    /// `init.sh` for what can be run, `<module>/files/…` for others.
    pub filename: FilePath,
    /// Of its content when the task was read.
    pub sha256: Sha256,
    /// Of its content when the task was read.
    pub size_bytes: u64,
    /// E.g. `/puppet/v3/file_content/tasks/package/linux.sh`.
    pub uri_path: String,
    /// Where it is.
    pub(crate) path: PathBuf,
}

/// A file to be served.
#[derive(Debug)]
pub struct CodeFile {
    /// Of its content when it was looked up.
    pub sha256: Sha256,
    /// Of its content when it was looked up.
    pub size_bytes: u64,
    /// Open at its begin. The file may be changed while it is read; who must not serve something
    /// else than `sha256` puts it into [`Blobs`](crate::Blobs) first.
    pub content: File,
}

impl TaskFile {
    /// Where it is; it may have changed since.
    pub fn source(&self) -> &Path {
        &self.path
    }
}
