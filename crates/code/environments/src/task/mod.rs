//! Tasks as their authors describe them: [`TaskMetadata`], and the check of parameters
//! ([`validate_params`]) before a task is run.
//!
//! Invariant: every problem is named with its place, and all problems are reported at once. Values
//! of parameters are never quoted, because a value may be a secret.

mod metadata;
mod parameter_type;
mod parameters;

pub use metadata::{MetadataError, ParameterMetadata, TaskMetadata};
pub(crate) use parameter_type::check_size;
pub use parameter_type::{ParameterType, ParameterTypeError};
pub use parameters::{ParamProblem, ValidParams, validate_params};
