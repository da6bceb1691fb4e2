//! Tasks as agents see them: the name, the file to execute, the secret part of the output.
//!
//! [`TaskName`] names a task, [`choose_implementation`] selects its file by the features of a node,
//! [`SensitiveScan`] finds `_sensitive` in output. Metadata files and types of parameters are in
//! the crate `environments`.

mod implementation;
mod name;
mod program_head;
mod sensitive;

pub use implementation::{NoImplementation, TaskImplementation, choose_implementation};
pub use name::{TaskName, TaskNameError};
pub use program_head::{ProgramHead, ScriptInterpreter};
pub use sensitive::{SENSITIVE_KEY, SensitiveScan};
