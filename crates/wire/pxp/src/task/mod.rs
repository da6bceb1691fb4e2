//! Tasks: their names, their metadata files, their parameters.
//!
//! [`TaskName`] names one, [`TaskMetadata`] is what its author wrote about it, [`ParamType`] the
//! type of one parameter, [`validate_params`] checks what somebody wants to run it with. The rule:
//! every problem is named with its place, and all of them at once.

mod implementation;
mod metadata;
mod name;
mod param_type;
mod params;
mod program_head;
mod sensitive;

pub use implementation::{Implementation, NoImplementation, choose_implementation};
pub use metadata::{MetadataError, ParameterMetadata, TaskMetadata};
pub use name::{TaskName, TaskNameError};
pub use param_type::{Mismatch, ParamType, Presence, Range, Regex, StructEntry, TypeError};
pub use params::{ParamProblem, ValidParams, validate_params};
pub use program_head::{Interpreter, ProgramHead};
pub use sensitive::{SENSITIVE_KEY, SensitiveScan};
