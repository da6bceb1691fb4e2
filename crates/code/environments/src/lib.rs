//! The code of environments: tasks, their metadata, files and parameter types; plans.
//!
//! [`Code`] lists environments, [`CodeVersion`] is one environment at one moment, [`TaskMetadata`]
//! describes a task, [`Blobs`] stores file contents by their hash. [`EnvironmentDir`] is the code
//! in a directory with Puppet's layout. Invariants: a name from outside never becomes a path
//! unchecked, no file outside a module is ever read through such a name, and a blob has the hash in
//! its name.
//!
//! Everything here reads the disk and blocks: call it from a blocking thread.

mod blobs;
mod code;
pub mod defaults;
mod directory;
mod environment;
mod error;
mod hash;
mod mount;
mod plan;
mod replaced;
mod task;

pub use blobs::{Blob, BlobError, Blobs};
pub use code::{Code, CodeFile, CodeVersion, Entry, Module, Source, Task, TaskFile, TaskSummary};
pub use directory::EnvironmentDir;
pub use environment::{EnvironmentName, EnvironmentNameError};
pub use error::CodeError;
pub use mount::{Mount, UnknownMount};
pub use plan::{
    Plan, PlanLanguage, PlanMetadata, PlanName, PlanNameError, PlanParameter, PlanProblem,
    PlanSummary, YamlAction, YamlParameter, YamlPlan, YamlStep, code_of,
};
pub use pxp::action::{FilePath, Sha256};
pub use replaced::{ReplacedFunction, replaced_functions, replaced_functions_note};
pub use task::{
    MetadataError, ParamProblem, ParameterMetadata, ParameterType, ParameterTypeError,
    TaskMetadata, ValidParams, validate_params,
};
