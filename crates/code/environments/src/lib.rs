//! The code of environments: tasks, their metadata, files and parameter types; plans.
//!
//! [`CodeReader`] lists environments, [`CodeVersion`] is one environment at one moment,
//! [`TaskMetadata`] describes a task, [`BlobStore`] stores file contents by their hash.
//! [`EnvironmentDir`] is the code in a directory with Puppet's layout.
//!
//! Invariants: a name from outside never becomes a path unchecked, no file outside a module is ever
//! read through such a name, and a blob has the hash in its name.
//!
//! Everything here reads the disk and blocks: call it from a blocking thread.

mod blobs;
mod code;
pub mod defaults;
mod directory;
mod environment_name;
mod error;
mod file_hashes;
mod file_metadata;
mod job_catalogs;
mod mount;
mod plan;
mod replaced;
mod task;

pub use blobs::{BlobError, BlobStore, OpenBlob};
pub use code::{
    CodeDirectoryEntry, CodeFile, CodeReader, CodeVersion, EnvironmentModule, EnvironmentTask,
    EvaluationSource, TaskSourceFile, TaskSummary,
};
pub use directory::{
    EnvironmentDir, MountedDirectory, MountedFileHashes, environment_conf_setting,
};
pub use environment_name::{EnvironmentName, EnvironmentNameError};
pub use error::CodeError;
pub use file_metadata::{
    FileMetadata, FileTreeOptions, FileTreeRequest, LinkHandling, ServedFileKind,
};
pub use job_catalogs::{JobCatalogRun, JobCatalogs, WaitingComponents};
pub use mount::{FileMount, UnknownMount, mount_path};
pub use plan::{
    EnvironmentPlanSource, PlanLanguage, PlanMetadata, PlanName, PlanNameError, PlanParameter,
    PlanProblem, PlanSummary, YamlAction, YamlParameter, YamlPlan, YamlStep, embedded_code,
};
pub use pxp::action::{FilePath, Sha256};
pub use replaced::{ReplacedFunction, replaced_functions, replaced_functions_note};
pub use task::{
    MetadataError, ParamProblem, ParameterMetadata, ParameterType, ParameterTypeError,
    TaskMetadata, ValidParams, validate_params,
};
