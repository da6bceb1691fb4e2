//! The functions and types of puppetlabs-stdlib, without Ruby: [`function`], [`named_type`].
//!
//! A host of an evaluation hands them out where the evaluator asks it for functions and types. The
//! functions have the names, arguments, values and error texts of stdlib 8 and 9; `old` is how
//! functions of Puppet's former interface get their arguments, `ruby` what Ruby's own library does to
//! texts and numbers.
//!
//! Invariant: whatever is not computed from the arguments (time, randomness, files, facts,
//! resources) comes from the host, so that a program that is evaluated again sees the same.

mod aliases;
pub mod defaults;
mod functions;
mod old;
mod registry;
mod ruby;
mod ruby_functions;

pub use aliases::{named_type, type_alias, type_alias_names};
pub use registry::{function, function_names};
pub use ruby_functions::{RUBY_FUNCTION_DIRECTORIES, replaces};
