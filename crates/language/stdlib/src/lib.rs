//! The functions and types of puppetlabs-stdlib, without Ruby: [`function`], [`named_type`].
//!
//! A host of an evaluation returns them when the evaluator requests functions and types. The
//! functions have the names, arguments, values and error texts of stdlib 8 and 9. The module `old_api`
//! passes arguments to functions of Puppet's former interface; `ruby` implements operations of
//! Ruby's library on texts and numbers.
//!
//! Invariant: everything that is not computed from the arguments (time, randomness, files, facts,
//! resources) comes from the host, so that a second evaluation of a program has the same inputs.

mod aliases;
pub mod defaults;
mod functions;
mod old_api;
mod registry;
mod ruby;
mod ruby_functions;

pub use aliases::{named_type, type_alias, type_alias_names};
pub use registry::{function, function_docs, function_names, function_specs};
pub use ruby_functions::{RUBY_FUNCTION_DIRECTORIES, replaced_function};
