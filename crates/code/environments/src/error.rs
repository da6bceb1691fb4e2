//! [`CodeError`]: why code cannot be used.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use pxp::task::TaskName;

use crate::{EnvironmentName, MetadataError, Mount, PlanName};

/// Why code cannot be used. Messages name the place and, where it is not plain, what to do.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CodeError {
    /// No such directory.
    #[error(
        "there is no environment `{environment}`: {} does not exist; `code.codedir` of the server says where \
         environments are", path.display()
    )]
    UnknownEnvironment {
        /// Which.
        environment: EnvironmentName,
        /// Where it would be.
        path: PathBuf,
    },
    /// The version was there, and is not any more, or the code id names none.
    #[error(
        "the version {code_id} of the environment `{environment}` is not on this server any more"
    )]
    UnknownVersion {
        /// Of what.
        environment: EnvironmentName,
        /// Which.
        code_id: String,
    },
    /// `environment.conf` makes no sense.
    #[error("{}, line {line}: {problem}", path.display())]
    EnvironmentConf {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What.
        problem: String,
    },
    /// No module of the environment has it.
    #[error("there is no task `{task}` in the environment `{environment}`")]
    UnknownTask {
        /// Which.
        task: TaskName,
        /// Where.
        environment: EnvironmentName,
    },
    /// No module of the environment has it.
    #[error("there is no plan `{plan}` in the environment `{environment}`")]
    UnknownPlan {
        /// Which.
        plan: PlanName,
        /// Where.
        environment: EnvironmentName,
    },
    /// The plan's file makes no sense.
    #[error("{}: {problem}", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// What, with line and column.
        problem: String,
        /// Line and column of the first mistake, from 1.
        position: Option<(usize, usize)>,
    },
    /// Several files could be meant.
    #[error(
        "task `{task}` is ambiguous: {} could all be run; leave one, or list them as \
         `implementations` in the metadata", files.join(", ")
    )]
    Ambiguous {
        /// Which.
        task: TaskName,
        /// Their names, within the module.
        files: Vec<String>,
    },
    /// Only a metadata file.
    #[error("task `{task}` has metadata but nothing to run: there is no file {wanted}")]
    NoExecutable {
        /// Which.
        task: TaskName,
        /// What is missing, within the module.
        wanted: String,
    },
    /// The metadata makes no sense.
    #[error("{}: {problem}", path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// What.
        problem: MetadataError,
    },
    /// An entry in `files` of the metadata makes no sense.
    #[error("task `{task}` lists `{entry}` in its files: {problem}")]
    FileEntry {
        /// Which.
        task: TaskName,
        /// As written.
        entry: String,
        /// What.
        problem: String,
    },
    /// Not a path that may be asked for.
    #[error("not a path of a file: {problem}")]
    InvalidPath {
        /// What.
        problem: &'static str,
    },
    /// No such file in the mount.
    #[error("there is no such file in the mount `{mount}`")]
    UnknownFile {
        /// Which.
        mount: Mount,
    },
    /// A link out of the module, a device, a name that is not UTF-8, …
    #[error("{} is refused: {problem}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// The file changes while it is read.
    #[error("{} is being changed while it is read; try again", path.display())]
    Changing {
        /// The file.
        path: PathBuf,
    },
    /// The disk.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
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

    pub(crate) fn refused(path: impl Into<PathBuf>, problem: impl Into<String>) -> Self {
        Self::Refused {
            path: path.into(),
            problem: problem.into(),
        }
    }

    /// Whether what was asked for does not exist (rather than being broken).
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            Self::UnknownEnvironment { .. }
                | Self::UnknownVersion { .. }
                | Self::UnknownTask { .. }
                | Self::UnknownPlan { .. }
                | Self::UnknownFile { .. }
        )
    }
}
