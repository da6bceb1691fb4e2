//! The interface to the code of environments: [`CodeReader`], [`CodeVersion`], [`EnvironmentTask`].

use std::fmt::Debug;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcore::Type;
use pxp::action::{FilePath, Sha256};
use pxp::task::TaskName;

use crate::{
    CodeError, EnvironmentName, EnvironmentPlanSource, FileMetadata, FileMount, FileTreeRequest,
    PlanName, PlanSummary, TaskMetadata,
};

/// Access to all environments.
pub trait CodeReader: Debug + Send + Sync {
    /// Names of the environments that exist now, sorted.
    fn environments(&self) -> Result<Vec<EnvironmentName>, CodeError>;

    /// The current version of an environment. A caller that needs several consistent values obtains
    /// the version once.
    fn version(&self, environment: &EnvironmentName) -> Result<Arc<dyn CodeVersion>, CodeError> {
        self.version_of(environment, None)
    }

    /// The directory of the version with this code id, however old; that of the current one if `code_id` is
    /// `None`. Nothing in it is read.
    fn directory_of(
        &self,
        environment: &EnvironmentName,
        code_id: Option<&str>,
    ) -> Result<PathBuf, CodeError>;

    /// The version with this code id, however old; the current one if `code_id` is `None`.
    fn version_of(
        &self,
        environment: &EnvironmentName,
        code_id: Option<&str>,
    ) -> Result<Arc<dyn CodeVersion>, CodeError>;
}

/// One code version of an environment.
pub trait CodeVersion: Debug + Send + Sync {
    /// Name of the environment.
    fn environment(&self) -> &EnvironmentName;

    /// Directory of the version.
    fn directory(&self) -> &Path;

    /// The code id, which always names this version; `None`: the code may change at any time.
    fn code_id(&self) -> Option<&str>;

    /// All tasks of the environment, sorted by name.
    fn tasks(&self) -> Result<Vec<TaskSummary>, CodeError>;

    /// One task, with the hashes of all its files as they are now.
    fn task(&self, name: &TaskName) -> Result<EnvironmentTask, CodeError>;

    /// All plans of the environment, sorted by name.
    fn plans(&self) -> Result<Vec<PlanSummary>, CodeError>;

    /// One plan, with its file's current content.
    fn plan(&self, name: &PlanName) -> Result<EnvironmentPlanSource, CodeError>;

    /// The type alias of this name, from Tutti's own, puppetlabs-stdlib's or the files `types/*.pp`
    /// of modules and the environment. `None` if there is none, or its file cannot be used.
    fn type_alias(&self, name: &str) -> Option<Type>;

    /// All modules of the environment, sorted by name.
    fn modules(&self) -> Result<Vec<EnvironmentModule>, CodeError>;

    /// The module of this name; `None` if there is none.
    fn module(&self, name: &str) -> Result<Option<EnvironmentModule>, CodeError>;

    /// A file to evaluate: of a module, or of the environment itself if `module` is `None`. `path`
    /// is relative to its directory. `None` if there is no such file.
    fn source(
        &self,
        module: Option<&str>,
        path: &str,
    ) -> Result<Option<EvaluationSource>, CodeError>;

    /// The entries of a directory of a module or of the environment, sorted by name; empty if there
    /// is no such directory. `path` is as for [`source`](Self::source).
    fn entries(
        &self,
        module: Option<&str>,
        path: &str,
    ) -> Result<Vec<CodeDirectoryEntry>, CodeError>;

    /// Adds files of modules to those of a task. An entry is as among the `files` of metadata; one that
    /// names a directory stands for everything below, and one that names nothing is skipped.
    fn add_task_files(
        &self,
        task: &mut EnvironmentTask,
        entries: &[String],
    ) -> Result<(), CodeError>;

    /// A file that a node requests. `module` is `None` where [`FileMount::has_modules`] is false; `path` is
    /// relative to the module's directory of that mount, not percent-encoded.
    fn file(
        &self,
        mount: FileMount,
        module: Option<&str>,
        path: &str,
    ) -> Result<CodeFile, CodeError>;

    /// The metadata of a file that a node requests, and of all below it, parents before children.
    /// In mounts without modules, a file of an earlier module hides one of the same path.
    fn file_tree(&self, request: &FileTreeRequest<'_>) -> Result<Vec<FileMetadata>, CodeError>;
}

/// A module of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentModule {
    /// Name of the module.
    pub name: String,
    /// Directory of the module.
    pub directory: PathBuf,
    /// The modules that its `metadata.json` depends on, without their owners; `None`: it has no
    /// such file, and may use all modules.
    pub dependencies: Option<Vec<String>>,
}

/// A file to evaluate, with the content at the time of reading.
#[derive(Clone, Debug)]
pub struct EvaluationSource {
    /// Path of the file.
    pub path: PathBuf,
    /// Content of the file.
    pub content: Vec<u8>,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeDirectoryEntry {
    /// Name of the entry.
    pub name: String,
    /// True for a directory, or a link to one.
    pub is_directory: bool,
    /// True for a file that its owner may execute.
    pub is_executable: bool,
}

/// A task in a list of tasks.
#[derive(Clone, Debug)]
pub struct TaskSummary {
    /// Name of the task.
    pub name: TaskName,
    /// Description from the metadata; `None` if there is none.
    pub description: Option<String>,
    /// True if lists do not show the task.
    pub private: bool,
    /// The reason for which the task cannot be run in its current form; `None` if it can.
    pub problem: Option<CodeError>,
}

/// A task that can be run.
#[derive(Clone, Debug)]
pub struct EnvironmentTask {
    /// Name of the task.
    pub name: TaskName,
    /// Metadata of the task; the default metadata if it has none.
    pub metadata: TaskMetadata,
    /// Files of the task. The executable ones come first, in the order of the metadata's
    /// implementations.
    pub files: Vec<TaskSourceFile>,
}

/// A file of a task.
#[derive(Clone, Debug)]
pub struct TaskSourceFile {
    /// `init.sh` for an executable file, `<module>/files/…` for others.
    pub filename: FilePath,
    /// SHA-256 of its content when the task was read.
    pub sha256: Sha256,
    /// Size of its content in bytes when the task was read.
    pub size_bytes: u64,
    /// Path of its URI, e.g. `/puppet/v3/file_content/tasks/package/linux.sh`.
    pub uri_path: String,
    /// Path on the server's disk.
    pub(crate) path: PathBuf,
}

/// A file that is served to nodes.
#[derive(Debug)]
pub struct CodeFile {
    /// SHA-256 of its content when it was looked up.
    pub sha256: Sha256,
    /// Size of its content in bytes when it was looked up.
    pub size_bytes: u64,
    /// The content, opened at its beginning. The file may change while it is read; a caller that
    /// must serve exactly the content of `sha256` copies it into [`BlobStore`](crate::BlobStore)
    /// first.
    pub content: File,
}

impl TaskSourceFile {
    /// Path of the file, which may have changed since it was read.
    pub fn source(&self) -> &Path {
        &self.path
    }
}
