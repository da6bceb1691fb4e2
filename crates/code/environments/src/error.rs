//! [`CodeError`]: the reasons for which code cannot be used.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use pxp::task::TaskName;

use crate::{EnvironmentName, FileMount, MetadataError, PlanName};

/// The reasons for which code cannot be used. Messages name the file and, if it is not obvious, the
/// remedy.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CodeError {
    /// The environment has no directory.
    #[error(
        "there is no environment `{environment}`: {} does not exist; `code.codedir` of the server says where \
         environments are", path.display()
    )]
    UnknownEnvironment {
        /// Name of the environment.
        environment: EnvironmentName,
        /// Directory in which the environment was expected.
        path: PathBuf,
    },
    /// The version existed but was removed, or no version has this code id.
    #[error(
        "the version {code_id} of the environment `{environment}` is not on this server any more"
    )]
    UnknownVersion {
        /// Environment of the version.
        environment: EnvironmentName,
        /// Code id of the version.
        code_id: String,
    },
    /// `environment.conf` is invalid.
    #[error("{}, line {line}: {problem}", path.display())]
    EnvironmentConf {
        /// Path of the `environment.conf`.
        path: PathBuf,
        /// Line number, counted from 1.
        line: usize,
        /// Description of the error.
        problem: String,
    },
    /// No module of the environment has the task.
    #[error("there is no task `{task}` in the environment `{environment}`")]
    UnknownTask {
        /// Name of the task.
        task: TaskName,
        /// Environment that was searched.
        environment: EnvironmentName,
    },
    /// No module of the environment has the plan.
    #[error("there is no plan `{plan}` in the environment `{environment}`")]
    UnknownPlan {
        /// Name of the plan.
        plan: PlanName,
        /// Environment that was searched.
        environment: EnvironmentName,
    },
    /// The plan's file is invalid.
    #[error("{}: {problem}", path.display())]
    Plan {
        /// Path of the plan's file.
        path: PathBuf,
        /// Description of the error, with line and column.
        problem: String,
        /// Line and column of the first error, counted from 1.
        position: Option<(usize, usize)>,
    },
    /// Several files could be the task's executable.
    #[error(
        "task `{task}` is ambiguous: {} could all be run; leave one, or list them as \
         `implementations` in the metadata", files.join(", ")
    )]
    Ambiguous {
        /// Name of the task.
        task: TaskName,
        /// Names of the files, within the module.
        files: Vec<String>,
    },
    /// The task has only a metadata file.
    #[error("task `{task}` has metadata but nothing to run: there is no file {wanted}")]
    NoExecutable {
        /// Name of the task.
        task: TaskName,
        /// Name of the missing file, within the module.
        wanted: String,
    },
    /// The metadata file is invalid.
    #[error("{}: {problem}", path.display())]
    Metadata {
        /// Path of the metadata file.
        path: PathBuf,
        /// Description of the error.
        problem: MetadataError,
    },
    /// An entry in `files` of the metadata is invalid.
    #[error("task `{task}` lists `{entry}` in its files: {problem}")]
    FileEntry {
        /// Name of the task.
        task: TaskName,
        /// The entry as written.
        entry: String,
        /// Description of the error.
        problem: String,
    },
    /// A requested path is not permitted.
    #[error("not a path of a file: {problem}")]
    InvalidPath {
        /// Description of the error.
        problem: &'static str,
    },
    /// The mount has no such file.
    #[error("there is no such file in the mount `{mount}`")]
    UnknownFile {
        /// Mount that was searched.
        mount: FileMount,
    },
    /// A directory that is served as a mount has no such file.
    #[error("there is no such file in this mount")]
    UnknownMountedFile,
    /// More files are below a path than the request permits.
    #[error("more than {files_max} files are below the requested path; request a part of it")]
    TooManyFiles {
        /// Number of files that the request permits.
        files_max: usize,
    },
    /// A file is refused: a link out of the module, a device, a name that is not UTF-8, …
    #[error("{} is refused: {problem}", path.display())]
    Refused {
        /// Path of the file.
        path: PathBuf,
        /// The reason for the refusal.
        problem: String,
    },
    /// A file changes while it is read.
    #[error("{} is being changed while it is read; try again", path.display())]
    Changing {
        /// Path of the file.
        path: PathBuf,
    },
    /// A file or directory cannot be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// The error of the operation.
        source: Arc<io::Error>,
    },
}

impl CodeError {
    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io {
            path: path.into(),
            source: Arc::new(source),
        }
    }

    pub(crate) fn refuse(path: impl Into<PathBuf>, problem: impl Into<String>) -> Self {
        Self::Refused {
            path: path.into(),
            problem: problem.into(),
        }
    }

    /// True if the requested object does not exist, and false if it is broken.
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            Self::UnknownEnvironment { .. }
                | Self::UnknownVersion { .. }
                | Self::UnknownTask { .. }
                | Self::UnknownPlan { .. }
                | Self::UnknownFile { .. }
                | Self::UnknownMountedFile
        )
    }
}
